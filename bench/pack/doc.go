// Package pack measures internal/pack alone, on the data sets: bytes an object,
// and the time to pack and unpack it.
//
//	go test -bench . ./pack
package pack
