//go:build !unix

package machine

// DisableCoreDumps does nothing, as there are none.
func DisableCoreDumps() error { return nil }
