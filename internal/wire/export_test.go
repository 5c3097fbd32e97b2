package wire

// For tests in package wire_test: the buffers are a few bytes to begin with, so
// that every object lies across their end.
var (
	ListBuffered  = splitList
	WatchBuffered = splitWatch
)

const MaxDepth = maxDepth
