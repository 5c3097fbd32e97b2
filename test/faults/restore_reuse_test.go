// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// An etcd restored from backup assigns versions again that it assigned before. An object that
// exists before and after keeps its UID, so it may have the version that the store holds, with
// other content.

// restoreAndReuse takes the server to a@5 with one label, back to version 4, and again to a@5 with
// another label. Pods b and c do not change.
func restoreAndReuse(h *cachetest.Harness) {
	h.Update(cachetest.Pod("a", cachetest.WithLabel("epoch", "lost")))
	h.SkipVersions(50)
	h.Bookmark()
	synctest.Wait()
	h.InjectWatchFault(2, fake.Fault{Err: fake.Expired()})
	h.Restore("4")
	h.Update(cachetest.Pod("a", cachetest.WithLabel("epoch", "restored")))
	cachetest.Advance(10 * time.Second)
}

// expectRestoredA checks that a is the a@5 that was written after the restore.
func expectRestoredA(t *testing.T, a *corev1.Pod) {
	t.Helper()
	if a == nil || a.ResourceVersion != "5" || a.Labels["epoch"] != "restored" {
		t.Errorf("the store holds %v after the restore", a)
	}
}

func TestRestoreThatReusesAVersionUpdatesTheObject(t *testing.T) {
	for name, options := range map[string]cache.InformerOptions[*corev1.Pod]{
		"live":   {},
		"packed": {Packed: true},
		// The filter accepts every Pod, and must run again.
		"filtered": {Filter: func(p *corev1.Pod) bool { return p.Name == "a" || p.Labels["epoch"] == "" }},
		"transformed": {Packed: true, Transform: func(p *corev1.Pod) (*corev1.Pod, error) {
			p.UID, p.ManagedFields = "", nil
			return p, nil
		}},
		"WatchList": {WatchList: true},
	} {
		t.Run(name, func(t *testing.T) { expectReuseIsDelivered(t, options, restoreAndReuse) })
	}
}

// expectReuseIsDelivered checks that an informer stores a@5 once more and delivers it after reuse,
// which lets the server use the version twice.
func expectReuseIsDelivered(t *testing.T, options cache.InformerOptions[*corev1.Pod], reuse func(*cachetest.Harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := cachetest.New(t)
		updates := runShared(t, h, options, func(pods cache.Reader[*corev1.Pod]) {
			reuse(h)
			a, _ := pods.GetByKey("ns/a")
			expectRestoredA(t, a)
		})
		if got := strings.Join(updates, ", "); got != "a@2 →lost, a@5 lost→restored" {
			t.Errorf("updates: %s", got)
		}
	})
}

// If the state of the new epoch cannot be stored, the store keeps that of the old one. A later good
// state may have the version of that, and is an update all the same.
func TestGoodStateInAReusedVersionIsDelivered(t *testing.T) {
	transform := func(p *corev1.Pod) (*corev1.Pod, error) {
		if p.Labels["epoch"] == "unstorable" {
			return nil, errors.New("injected")
		}
		return p, nil
	}
	update := func(h *cachetest.Harness, epoch string) {
		h.Update(cachetest.Pod("a", cachetest.WithLabel("epoch", epoch)))
	}
	for name, deliver := range map[string]func(h *cachetest.Harness){
		"by a watch": func(h *cachetest.Harness) { update(h, "restored") },
		"by a list": func(h *cachetest.Harness) {
			h.Expire()
			update(h, "restored")
		},
	} {
		for mode, packed := range map[string]bool{"live": false, "packed": true} {
			t.Run(name+", "+mode, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := cachetest.New(t)
					options := cache.InformerOptions[*corev1.Pod]{Transform: transform, Packed: packed}
					updates := runShared(t, h, options, func(pods cache.Reader[*corev1.Pod]) {
						h.SkipVersions(1)
						update(h, "lost") // 6
						h.SkipVersions(50)
						h.Bookmark()
						synctest.Wait()
						h.InjectWatchFault(2, fake.Fault{Err: fake.Expired()})
						h.Restore("4")
						update(h, "unstorable") // 5
						cachetest.Advance(10 * time.Second)
						deliver(h) // 6
						cachetest.Advance(10 * time.Second)
						if a, _ := pods.GetByKey("ns/a"); a.ResourceVersion != "6" || a.Labels["epoch"] != "restored" {
							t.Errorf("the store holds %v after the restore", a)
						}
					})
					if got := strings.Join(updates, ", "); got != "a@2 →lost, a@6 lost→restored" {
						t.Errorf("updates: %s", got)
					}
				})
			})
		}
	}
}

// An object that the filter accepted before the restore, and rejects after it in the same version,
// is deleted.
func TestRestoreThatReusesAVersionFiltersTheObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := cachetest.New(t)
		filter := func(p *corev1.Pod) bool { return p.Labels["epoch"] != "restored" }
		runShared(t, h, cache.InformerOptions[*corev1.Pod]{Filter: filter}, func(pods cache.Reader[*corev1.Pod]) {
			restoreAndReuse(h)
			if got := cachetest.Describe(pods.List()); got != "b@3 c@4" {
				t.Errorf("the store holds [%s]", got)
			}
		})
	})
}

// runShared runs an informer during test, and returns the updates that its handler received.
func runShared(t *testing.T, h *cachetest.Harness, options cache.InformerOptions[*corev1.Pod], test func(cache.Reader[*corev1.Pod])) (updates []string) {
	t.Helper()
	options.ErrorHandler = h.Report
	pods := cache.NewSharedInformer(h, &corev1.Pod{}, options)
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{
		UpdateFunc: func(before, after *corev1.Pod) {
			updates = append(updates, cachetest.NameAtVersion(before)+" "+before.Labels["epoch"]+"→"+after.Labels["epoch"])
		},
	}, cache.HandlerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stop := runInformer(t, pods)
	test(pods.Store())
	stop()
	return updates
}

// The store of a Reflector replaces objects without comparing them.
func TestRestoreThatReusesAVersionUpdatesTheStore(t *testing.T) {
	store := cache.NewStore[*corev1.Pod](nil, nil)
	synctest.Test(t, func(t *testing.T) {
		h := cachetest.New(t)
		defer h.RunReflector(store)()
		restoreAndReuse(h)
		a, _ := store.GetByKey("ns/a")
		expectRestoredA(t, a)
	})
}

var errRejected = errors.New("rejected")

// rejectingStore is a store that rejects the first lists.
type rejectingStore struct {
	*cache.Store[*corev1.Pod]
	rejections int
}

func (s *rejectingStore) Replace(pods []*corev1.Pod, rv string) error {
	if s.rejections--; s.rejections >= 0 {
		return errRejected
	}
	return s.Store.Replace(pods, rv)
}

// A list that the store rejects is a failed list: the error is reported, and the list is retried
// after a backoff.
func TestListRejectedByTheStoreIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := cachetest.New(t)
		store := &rejectingStore{Store: cache.NewStore[*corev1.Pod](nil, nil), rejections: 2}
		defer h.RunReflector(store)()
		h.ExpectRequests(0, "list@0")
		h.ExpectError(cachetest.ErrorIs(errRejected))
		cachetest.Advance(10 * time.Second)
		h.ExpectRequests(0, "list@0 list@0 list@0 watch@4")
		if got := cachetest.Describe(store.List()); got != "a@2 b@3 c@4" {
			t.Errorf("the store holds [%s]", got)
		}
	})
}
