// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/watch"
)

// TestChangeOfPendingKeyIsItsReason changes an object of the initial list whose key waits in the
// backlog of a blocked handler. InInitialList is set for the other keys, and not for this one.
func TestChangeOfPendingKeyIsItsReason(t *testing.T) {
	var keys []string
	runInformer(t, []string{"a=1", "b=1", "c=1", "d=1"}, coalescing(1), func(h *harness) {
		h.add(HandlerConfig{Name: "blocked", OnKey: func(event KeyEvent) {
			keys = append(keys, fmt.Sprintf("%s %v", event.Key, event.InInitialList))
			<-h.resume
		}})
	}, func(h *harness) {
		for version := range 10 {
			h.send(watch.Modified, fmt.Sprintf("c=%d", 2+version), fmt.Sprint(11+version))
		}
		close(h.resume)
		synctest.Wait()
		h.expect("the handler", keys, "a true", "b true", "c false", "d true")
	})
}
