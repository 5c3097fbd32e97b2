// Package intern holds bounded tables in which equal things find each other:
// strings, bytes, and decoded values that are known by the bytes they were decoded
// from.
//
// Objects of a cluster are full of equal parts: a Deployment's Pods have the same
// images, names of fields, labels, environment. Who decodes one asks a table for
// each part, and gets the one that an earlier object has:
//
//	strings := intern.NewStrings(intern.Ample)
//	name := strings.Of(raw[i:j]) // allocates only what it has not seen lately
//
// Tables forget. Their size has an upper bound whatever passes through them, what
// never comes twice does not push out what does (see set), and a table of few
// things is small. A table that forgets costs memory later, never correctness.
//
// [Worth] finds out what is not worth asking for: names, UIDs and
// resourceVersions, which are all different.
//
// Everything here is safe for concurrent use. Looking up takes no lock.
package intern
