package dataset

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// draw draws from a sequence that its seeds determine.
type draw struct{ *rand.Rand }

// Streams keep draws of different things apart.
const (
	streamWorkload = iota + 1
	streamPod
	streamNode
	streamCustom
)

func newDraw(seed uint64, stream, number int) draw {
	return draw{rand.New(rand.NewPCG(seed*0x9e3779b97f4a7c15+uint64(stream), uint64(number)))}
}

// between returns a number from low to high, both included.
func (d draw) between(low, high int) int { return low + d.IntN(high-low+1) }

// few returns a number up to high, small ones more often: Pods with much of
// everything are rare, and larger than the data sets' are.
func (d draw) few(high int) int {
	x := d.Float64()
	return int(x * x * float64(high+1))
}

// chance is true so many times of a hundred.
func (d draw) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d draw, from ...T) T { return from[d.IntN(len(from))] }

func (d draw) from(alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[d.IntN(len(alphabet))])
	}
	return b.String()
}

// suffix returns what Kubernetes appends to generated names.
func (d draw) suffix(n int) string { return d.from("bcdfghjklmnpqrstvwxz2456789", n) }

func (d draw) hex(n int) string { return d.from("0123456789abcdef", n) }

func (d draw) uid() types.UID {
	return types.UID(fmt.Sprintf("%s-%s-4%s-%s%s-%s", d.hex(8), d.hex(4), d.hex(3), pick(d, "8", "9", "a", "b"), d.hex(3), d.hex(12)))
}

// epoch is when the oldest object was created.
func epoch() time.Time { return time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC) }

// moment returns a time within days of the epoch, in full seconds as the API has
// them.
func (d draw) moment(days int) metav1.Time {
	return metav1.NewTime(epoch().Add(time.Duration(d.IntN(days*24*3600)) * time.Second))
}

// later returns a time a few seconds after another.
func later(t metav1.Time, seconds int) metav1.Time {
	return metav1.NewTime(t.Add(time.Duration(seconds) * time.Second))
}

// words is what names are made of.
func (d draw) word() string {
	return pick(d, "checkout", "search", "billing", "ledger", "gateway", "profile", "mailer", "catalog", "inventory", "pricing",
		"session", "report", "webhook", "audit", "shipping", "recommendation", "identity", "media", "quota", "notify")
}

func (d draw) team() string {
	return pick(d, "payments", "storefront", "platform", "data", "growth", "security")
}
