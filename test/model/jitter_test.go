//go:debug randseednop=0
package model_test

import "math/rand"

// seedJitter lets the delays of the informer be the same each time. They come from math/rand, as
// those of apimachinery's package wait.
func seedJitter() {
	rand.Seed(1) //nolint:staticcheck // a source of one's own cannot be given to package wait
}
