// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// countingLines returns a context whose logger counts the lines that contain a text.
func countingLines(t *testing.T, text string) (context.Context, *atomic.Int64) {
	t.Helper()
	lines := new(atomic.Int64)
	return klog.NewContext(t.Context(), funcr.New(func(_, args string) {
		if strings.Contains(args, text) {
			lines.Add(1)
		}
	}, funcr.Options{})), lines
}

// An error that all slots have is logged once in five minutes, although renewals succeed meanwhile.
func TestErrorsAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := countingLines(t, "Sharding request failed")
		stop := runMember(ctx, t, newTestMember(t, refuseSlots(), "a"))
		<-time.After(12 * time.Minute)
		stop()
		if got := lines.Load(); got != 3 {
			t.Errorf("%d errors were logged in twelve minutes", got)
		}
	})
}
