// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// random is a pseudorandom generator whose sequence depends only on its seeds.
type random struct{ *rand.Rand }

// The streams, one for each type of object, are independent sequences of one seed.
const (
	streamWorkload = iota + 1
	streamPod
	streamNode
	streamCustom
	streamNamespace
	streamPriorityClass
)

func newRandom(seed uint64, stream, number int) random {
	return random{rand.New(rand.NewPCG(seed*0x9e3779b97f4a7c15+uint64(stream), uint64(number)))}
}

// between returns a number from low to high, inclusive.
func (r random) between(low, high int) int { return low + r.IntN(high-low+1) }

// few returns a number up to high, inclusive. Small numbers are more probable.
func (r random) few(high int) int {
	x := r.Float64()
	return int(x * x * float64(high+1))
}

// chance returns true with the given probability.
func (r random) chance(percent int) bool { return r.IntN(100) < percent }

func pick[T any](r random, from ...T) T { return from[r.IntN(len(from))] }

func (r random) from(alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

// suffix returns a suffix as Kubernetes appends it to generated names.
func (r random) suffix(n int) string { return r.from("bcdfghjklmnpqrstvwxz2456789", n) }

func (r random) hex(n int) string { return r.from("0123456789abcdef", n) }

func (r random) uid() types.UID {
	return types.UID(fmt.Sprintf("%s-%s-4%s-%s%s-%s", r.hex(8), r.hex(4), r.hex(3), pick(r, "8", "9", "a", "b"), r.hex(3), r.hex(12)))
}

// epoch is the earliest creationTimestamp.
func epoch() time.Time { return time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC) }

// moment returns a time within the given days after the epoch, in full seconds as in the API.
func (r random) moment(days int) metav1.Time {
	return metav1.NewTime(epoch().Add(time.Duration(r.IntN(days*24*3600)) * time.Second))
}

// later returns a time the given seconds after t.
func later(t metav1.Time, seconds int) metav1.Time {
	return metav1.NewTime(t.Add(time.Duration(seconds) * time.Second))
}

// word returns a word for use in names.
func (r random) word() string {
	return pick(r, "checkout", "search", "billing", "ledger", "gateway", "profile", "mailer", "catalog", "inventory", "pricing",
		"session", "report", "webhook", "audit", "shipping", "recommendation", "identity", "media", "quota", "notify")
}

func (r random) team() string {
	return pick(r, "payments", "storefront", "platform", "data", "growth", "security")
}
