// Package adapter is a program on client-go's informers, in folder before, and the same program on
// kinformer's, in folder after. Their only difference is an import and a line that lets lists be
// read as they arrive:
//
//	diff before/main.go after/main.go
//
// A test checks that there is no other difference. docs/adopting.md has the other ways to adopt
// kinformer.
package adapter
