// Package informer puts the parts together: a reflector feeds a store, the
// store's log feeds handlers. It is generic over the values, so that the typed
// API and adapters to other interfaces are thin shells on one engine.
//
//	source ──▶ reflector ──▶ store ──▶ log ──▶ cursor ──▶ handler
//
// Every handler has one goroutine, which calls it for one event at a time.
package informer
