// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// collectLines returns a context whose logger collects the lines that contain a text, and a
// function that returns these lines.
func collectLines(t *testing.T, text string) (ctx context.Context, lines func() []string) {
	t.Helper()
	var mu sync.Mutex
	var collected []string
	logger := funcr.New(func(_, args string) {
		if strings.Contains(args, text) {
			mu.Lock()
			defer mu.Unlock()
			collected = append(collected, args)
		}
	}, funcr.Options{})
	return klog.NewContext(t.Context(), logger), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(collected)
	}
}

// An error that all slots have is logged once in five minutes, although renewals succeed meanwhile.
func TestErrorsAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := collectLines(t, "Sharding request failed")
		stop := runMember(ctx, t, newTestMember(t, refuseSlots(), "a"))
		<-time.After(12 * time.Minute)
		stop()
		if got := len(lines()); got != 3 {
			t.Errorf("%d errors were logged in twelve minutes", got)
		}
	})
}

// The cause of a failed request precedes its URL in the log and in the status.
func TestCausePrecedesURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := collectLines(t, "Sharding request failed")
		m := newTestMember(t, newLeaseServer(), "a")
		m.report(ctx, "renew", &url.Error{Op: "Put", URL: "https://server/lease", Err: io.EOF})
		if got := m.Status().Err.Error(); got != `renew: EOF (Put "https://server/lease")` {
			t.Errorf("the status has %s", got)
		}
		if got := lines(); len(got) != 1 || !strings.Contains(got[0], `"error"="EOF (Put \"https://server/lease\")"`) {
			t.Errorf("logged %q", got)
		}
	})
}
