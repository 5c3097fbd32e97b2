//go:build !unix

package harness

import "time"

// CPU returns the time since the program began: there is no processor time to be
// had here that Go knows of.
func CPU() time.Duration { return time.Since(began) }

var began = time.Now() //nolint:gochecknoglobals // when the program began does not change
