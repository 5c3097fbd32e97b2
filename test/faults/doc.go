// Package faults has the black-box tests of what goes wrong between an informer and the API server:
// lists, watches, versions, connections and shutdown. They use the public API and the fake server.
package faults
