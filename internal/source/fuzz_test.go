// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/internal/tap"
	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
)

// FuzzVersion checks any resourceVersion. Its length is limited, and the error is short.
func FuzzVersion(f *testing.F) {
	for _, version := range []string{"", "0", "007", "18446744073709551616", "abc", strings.Repeat("9", maxVersion), strings.Repeat("9", maxVersion+1)} {
		f.Add(version)
	}
	f.Fuzz(func(t *testing.T, version string) {
		var err error
		memory.ExpectProportional(t, len(version), 10, func() { err = checkVersion(version) })
		if (err == nil) != (len(version) <= maxVersion) {
			t.Fatalf("checkVersion of %d bytes = %v", len(version), err)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Fatalf("error of %d bytes", len(err.Error()))
		}
	})
}

// FuzzRetryAfter passes any Retry-After on. The delay is in seconds, and positive.
func FuzzRetryAfter(f *testing.F) {
	for _, header := range []string{"", "1", "-1", "1000000000", "99999999999999999999", "Fri, 31 Dec 1999 23:59:59 GMT", "1.5", "+3", "0x10"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		refused := apierrors.NewServiceUnavailable("starting")
		var err error
		memory.ExpectProportional(t, len(header), 10, func() { err = withRetryAfter(refused, tap.Response{RetryAfter: header}) })
		seconds, ok := apierrors.SuggestsClientDelay(err)
		if seconds < 0 || ok && seconds == 0 && !errors.Is(err, refused) {
			t.Fatalf("Retry-After %q is %d seconds, %v", header, seconds, err)
		}
	})
}
