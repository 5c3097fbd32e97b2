package decode

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestQuantityMerged merges nothing into a Quantity, which leaves it what it is:
// that is not to be remembered as the value of nothing.
func TestMergedQuantityIsNotCached(t *testing.T) {
	divisor := func(b []byte) []byte { return bytesField(3, b) }
	nothing := varintField(9, 1)
	for _, d := range decodersOf(t, reflect.TypeFor[corev1.ResourceFieldSelector]()) {
		for _, q := range []string{"1", "2"} {
			agree(t, d, join(divisor(bytesField(1, []byte(q))), divisor(nothing)))
		}
		agree(t, d, divisor(nothing))
	}
}
