// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
)

// Identities compare versions as apimachinery does.
func TestIdentityOrdersVersions(t *testing.T) {
	versions := []string{
		strconv.FormatUint(1<<63, 10), "9999999999999999999", strconv.FormatUint(math.MaxUint64, 10), "18446744073709551617", "99999999999999999999999",
		"", "0", "1", "7", "07", "8", "10", "99", "100", "999999999999999999", "1000000000000000000",
		"1700000000000000005", "1700000000000000006", strconv.FormatUint(1<<63-1, 10), "abc", "abd", "-1", "+1", "1 ", "1.0",
	}
	for _, a := range versions {
		for _, b := range versions {
			order, err := resourceversion.CompareResourceVersion(a, b)
			if got, want := identityOf("u", a).before(identityOf("u", b)), err == nil && order < 0; got != want {
				t.Errorf("%q before %q: %v, want %v", a, b, got, want)
			}
			if got, want := identityOf("u", a).sameVersion(identityOf("u", b)), a == b && a != ""; got != want {
				t.Errorf("%q the same as %q: %v, want %v", a, b, got, want)
			}
		}
	}
}

// An empty UID or version never means "unchanged", and may belong to any object.
func TestEmptyIdentity(t *testing.T) {
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

// FuzzIdentity compares any two versions. What identities order, apimachinery orders in the same
// way.
func FuzzIdentity(f *testing.F) {
	for _, pair := range [][2]string{{"1", "2"}, {"9", "10"}, {"", "1"}, {"abc", "1"}, {"9223372036854775807", "9223372036854775808"}, {"007", "8"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		var older bool
		memory.ExpectProportional(t, len(a)+len(b), 1, func() { older = identityOf("u", a).before(identityOf("u", b)) })
		order, err := resourceversion.CompareResourceVersion(a, b)
		if older && (err != nil || order >= 0) {
			t.Fatalf("%q is older than %q, apimachinery returns %d, %v", a, b, order, err)
		}
		if !older && err == nil && order < 0 {
			t.Fatalf("%q is not older than %q", a, b)
		}
	})
}
