// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

// draw is a source of random choices that depend only on the seed and the number it was created
// with.
type draw struct{ *rand.Rand }

func newDraw(seed uint64, number int) draw {
	return draw{rand.New(rand.NewPCG(seed, uint64(number)))}
}

// drawFor returns a draw that depends on the seed and a name.
func drawFor(seed uint64, name string) draw {
	hash := fnv.New32a()
	hash.Write([]byte(name))
	return newDraw(seed, int(hash.Sum32()))
}

// between returns a number from low to high, both included.
func (d draw) between(low, high int) int { return low + d.IntN(high-low+1) }

// chance returns true with a probability in percent.
func (d draw) chance(percent int) bool { return d.IntN(100) < percent }

// hex returns n hexadecimal digits, as in digests and identifiers.
func (d draw) hex(n int) string {
	digits := make([]byte, n)
	for i := range digits {
		digits[i] = "0123456789abcdef"[d.IntN(16)]
	}
	return string(digits)
}

// suffix returns n characters, as Kubernetes appends to generated names.
func (d draw) suffix(n int) string {
	letters := make([]byte, n)
	for i := range letters {
		letters[i] = "bcdfghjklmnpqrstvwxz2456789"[d.IntN(27)]
	}
	return string(letters)
}

// uid returns a random UUID.
func (d draw) uid() string {
	return fmt.Sprintf("%s-%s-4%s-a%s-%s", d.hex(8), d.hex(4), d.hex(3), d.hex(3), d.hex(12))
}

func pick[T any](d draw, from ...T) T { return from[d.IntN(len(from))] }
