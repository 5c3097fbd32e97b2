package store

import (
	"math"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Versions compare as apimachinery compares them, as far as they are numbers of a size
// that a server may have.
func TestIdentityOrdersVersions(t *testing.T) {
	versions := []string{
		"", "0", "1", "7", "07", "8", "10", "99", "100", "999999999999999999", "1000000000000000000",
		strconv.FormatUint(math.MaxUint64, 10), "abc", "abd", "-1", "+1", "1 ", "1.0",
	}
	for _, a := range versions {
		for _, b := range versions {
			order, err := resourceversion.CompareResourceVersion(a, b)
			astronomic := len(a) > 18 || len(b) > 18
			if got, want := identityOf("u", a).before(identityOf("u", b)), err == nil && order < 0 && !astronomic; got != want {
				t.Errorf("%q before %q: %v, want %v", a, b, got, want)
			}
			if got, want := identityOf("u", a).sameVersion(identityOf("u", b)), a == b && a != ""; got != want {
				t.Errorf("%q the same as %q: %v, want %v", a, b, got, want)
			}
		}
	}
}

// Empty is no identity: it is never unchanged, and may be anybody's.
func TestIdentityOfNothing(t *testing.T) {
	for _, c := range []struct {
		a, b                    identity
		sameVersion, sameObject bool
	}{
		{identityOf("u", "1"), identityOf("u", "1"), true, true},
		{identityOf("u", "1"), identityOf("v", "1"), false, false},
		{identityOf("u", "1"), identityOf("", "1"), false, true},
		{identityOf("", "1"), identityOf("", "1"), false, true},
		{identityOf("u", ""), identityOf("u", ""), false, true},
	} {
		if c.a.sameVersion(c.b) != c.sameVersion || c.a.sameObject(c.b) != c.sameObject || c.b.sameObject(c.a) != c.sameObject {
			t.Errorf("%v and %v: same version %v, same object %v", c.a, c.b, c.a.sameVersion(c.b), c.a.sameObject(c.b))
		}
	}
}
