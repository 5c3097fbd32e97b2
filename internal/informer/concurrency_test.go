// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Handlers that are added while events arrive receive the stored objects and then every later
// change, once each. With -race, it also checks the locking.
func TestHandlersAddedConcurrentlyMissNoEvent(t *testing.T) {
	const pods = 20
	i := startPodInformer(t, pods)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for k := range concurrentRounds {
			for _, item := range podItems(pods, pods, pods+1+pods*k) {
				i.feed.Apply(watch.Modified, item)
			}
		}
	}()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for k := range 20 {
				last := make(map[string]int)
				h, err := i.Add(HandlerConfig{
					Name:       fmt.Sprint(worker, k),
					EveryEvent: worker%2 == 1,
					OnEvent: func(e Event) {
						version, _ := strconv.Atoi(e.New.(*corev1.Pod).ResourceVersion)
						if before, ok := last[e.Key]; ok && version != before+pods*(1+e.Coalesced) {
							t.Errorf("%s at %d after %d, %d coalesced", e.Key, version, before, e.Coalesced)
						}
						last[e.Key] = version
					},
				})
				if err != nil {
					t.Error(err)
					return
				}
				<-h.Synced()
				if k == 19 {
					<-written
					for h.Status().Backlog > 0 {
						runtime.Gosched()
					}
					if len(last) != pods {
						t.Errorf("received %d objects, want %d", len(last), pods)
					}
				}
				if err := h.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
