package dataset

import "strconv"

// baseVersion makes every version a number of ten digits, so that the version in
// an encoded object can be written over.
const baseVersion = 1_000_000_000

// Version returns the n-th resourceVersion. The i-th object of a set begins at
// Version(i); later states use later ones.
func Version(n int) string { return strconv.Itoa(baseVersion + n) }
