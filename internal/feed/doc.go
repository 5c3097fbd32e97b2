// Package feed is the seam in the data's way: what a source of objects, the
// reflector that drives it and the store behind it say to each other.
//
//	Source ──Item──▶ reflector ──Item──▶ Sink
//
// A Source lists and watches a collection of the API and pushes what it
// receives, item by item. The reflector decides when to list, from which
// resourceVersion to watch and what to do about errors. A Sink keeps the items.
// Neither end knows the other, and an Item may carry the object's bytes as they
// came or a decoded object, so that a source which decodes and one which does
// not look the same to everybody behind them.
package feed
