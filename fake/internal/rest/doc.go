// Package rest is the HTTP side of the embedded API server: paths, verbs, content types and forms, discovery, watches, errors, faults.
//
// The way of a request, a file each: auth.go, handler.go (which path is what), path.go, fault.go (what goes wrong with it), verbs.go (what it does),
// form.go and table.go (what its answer is turned into), gzip.go.
//
// A watch is served by the goroutine of its request and by nothing else: the loop in watch.go pulls from the server's memory what the watcher has not
// seen, writes it, and waits for the next change, the end of the request or of the server.
package rest
