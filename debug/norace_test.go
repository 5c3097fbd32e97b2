//go:build !race

package debug_test

import "time"

// refreshTime is how long the overview may take.
const refreshTime = 50 * time.Millisecond
