// Package rest is the HTTP side of the embedded API server: paths, verbs, content types, watches, errors.
//
// A watch is served by the goroutine of its request and by nothing else: the loop in watch.go pulls from the server's memory what the watcher has not
// seen, writes it, and waits for the next change, the end of the request or of the server.
package rest
