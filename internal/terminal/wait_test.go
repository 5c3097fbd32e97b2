// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/terminal/terminaltest"
)

// A server that accepts connections but does not answer is reported after ten seconds.
func TestUnresponsiveServerIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newLinesView(terminaltest.NewOutput())
		shown := shownNodes(&cache.ListWatch{
			ListFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
			WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return nil, errors.New("watch before list")
			},
		}, v, nil)
		began := time.Now()
		err := Show(t.Context(), v, shown, 0, nil)
		if want := "list nodes of the test's cluster: no answer within 10s"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if took := time.Since(began); took < firstSyncTimeout || took > firstSyncTimeout+time.Second {
			t.Errorf("took %v, want %v", took, firstSyncTimeout)
		}
	})
}

func TestSanitizeRemovesControlCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"as it is,  ünchanged":  "as it is,  ünchanged",
		"two\nlines\r\n":        "two lines",
		"\x1b[2Jgone\a":         "[2Jgone",
		"a\tb\u200b\u202ec\x00": "a b c",
	} {
		if got := Sanitize(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for created, want := range map[time.Time]string{
		noon().Add(-75 * time.Hour): "3d3h",
		noon().Add(time.Minute):     "0s",
		{}:                          "<unknown>",
	} {
		if got := Age(created, noon()); got != want {
			t.Errorf("Age of %v: got %q, want %q", created, got, want)
		}
	}
}
