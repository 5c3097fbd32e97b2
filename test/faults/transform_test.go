// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestFailedTransformOfAListItemKeepsTheOthers lets a transform fail on one object of a hundred,
// for hours. The informer syncs with the others, reports the object and the cause, lists again a
// few times only, and stores the object at once when its next state is good.
func TestFailedTransformOfAListItemKeepsTheOthers(t *testing.T) {
	const pods = 100
	cause := errors.New("no such zone")
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprintf("packed: %v", packed), func(t *testing.T) {
			eachClient(t, func(t *testing.T, connect func(*cachetest.Harness) *network) {
				synctest.Test(t, func(t *testing.T) {
					h := cachetest.New(t)
					for i := range pods - 3 {
						h.Create(cachetest.Pod(fmt.Sprintf("pod-%d", i)))
					}
					connect(h)
					var repaired atomic.Bool
					informer := cache.NewSharedInformer(h.Source, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
						Packed:       packed,
						ErrorHandler: h.Report,
						Transform: func(p *corev1.Pod) (*corev1.Pod, error) {
							if p.Name == "b" && !repaired.Load() {
								return nil, cause
							}
							return p, nil
						},
					})
					stop := runInformer(t, informer)
					began := time.Now()
					if err := informer.WaitForSync(t.Context()); err != nil {
						t.Fatal(err)
					}
					if got := informer.Store().Len(); got != pods-1 {
						t.Errorf("%d objects stored, want %d", got, pods-1)
					}
					var failed *cache.ObjectError
					if errs := h.TakeErrors(); len(errs) != 1 || !errors.Is(errs[0], cause) || !errors.As(errs[0], &failed) || failed.Key != "ns/b" {
						t.Errorf("reported %v", errs)
					}
					cachetest.Advance(3 * time.Hour)
					if status := informer.Status(); status.Store.Quarantined != 1 || status.Err != nil || !status.Synced {
						t.Errorf("status after three hours: %+v", status)
					}
					if lists := wholeLists(h.Requests()); lists < 3 || lists > 7 {
						t.Errorf("%d lists in three hours", lists)
					}
					h.ExpectRates(began)
					repaired.Store(true)
					h.Update(cachetest.Pod("b"))
					cachetest.Advance(time.Second)
					if _, stored := informer.Store().GetByKey("ns/b"); !stored || informer.Status().Store.Quarantined != 0 {
						t.Errorf("stored: %v, status %+v", stored, informer.Status())
					}
					stop()
				})
			})
		})
	}
}

// runner is an informer of any type.
type runner interface {
	Run(ctx context.Context) error
}

// runInformer runs an informer in a bubble until stop.
func runInformer(t *testing.T, informer runner) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- informer.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestFailedTransformOfAnEventIsRetried lets a transform fail on an update. The store keeps the
// last good state, Status names the object, and a list after the watch retries it although the
// server has nothing new: the handler receives one update.
func TestFailedTransformOfAnEventIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := cachetest.New(t)
		var failing atomic.Bool
		informer := cache.NewSharedInformer(h, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
			ErrorHandler: h.Report,
			Transform: func(p *corev1.Pod) (*corev1.Pod, error) {
				if failing.Load() {
					return nil, errors.New("no such zone")
				}
				return p, nil
			},
		})
		if _, err := informer.AddEventHandler(h.RecordingHandler(), cache.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		stop := runInformer(t, informer)
		h.ExpectEvents("A a@2", "A b@3", "A c@4")
		failing.Store(true)
		h.Update(cachetest.Pod("a"))
		synctest.Wait()
		failing.Store(false)
		status := informer.Status()
		if pod, stored := informer.Store().GetByKey("ns/a"); !stored || pod.ResourceVersion != "2" || len(status.Store.QuarantinedKeys) != 1 || status.Store.QuarantinedKeys[0].Key != "ns/a" {
			t.Errorf("stored %v, status %+v", pod, status)
		}
		h.ExpectEvents()
		cachetest.Advance(11 * time.Minute)
		h.ExpectEvents("U a@2→5")
		if status := informer.Status(); status.Store.Quarantined != 0 || status.Freshness.ResourceVersion != "5" {
			t.Errorf("status %+v", status)
		}
		stop()
	})
}
