// Package agreement checks that kinformer cost prints the figures of this module's rows, for the same
// objects. Nothing but its test is in it.
package agreement
