// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
)

// runLabelled runs f in a goroutine. It returns the label of that goroutine and of all goroutines
// that it starts, directly or not.
func runLabelled(ctx context.Context, f func(context.Context)) (label string, done <-chan struct{}) {
	label = fmt.Sprint("subject-", subjectNumber.Add(1))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pprof.Do(ctx, pprof.Labels(labelKey, label), f)
	}()
	return label, ended
}

const labelKey = "e2e"

var subjectNumber atomic.Int64

// expectNoGoroutines waits until no goroutine has a label, except those of connections, which
// clients keep for later requests.
func expectNoGoroutines(t *testing.T, label string) {
	t.Helper()
	await(t, "the goroutines of "+label+" end", func(context.Context) error {
		if left := labelled(t, label); len(left) > 0 {
			return fmt.Errorf("%d are left:\n%s", len(left), strings.Join(left, "\n\n"))
		}
		return nil
	})
}

// labelled returns the stacks of the goroutines with a label.
func labelled(t *testing.T, label string) []string {
	t.Helper()
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		t.Fatal(err)
	}
	var left []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, fmt.Sprintf("%q:%q", labelKey, label)) && !isConnection(stack) {
			left = append(left, stack)
		}
	}
	return left
}

func isConnection(stack string) bool {
	for _, of := range []string{"net/http.(*persistConn).", "http2.(*clientConnReadLoop).", "net/http.(*http2clientConnReadLoop)."} {
		if strings.Contains(stack, of) {
			return true
		}
	}
	return false
}
