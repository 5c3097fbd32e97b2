// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// runGroup runs a group, and returns a function that ends its context and returns the result.
func runGroup(t *testing.T, group *cache.Group) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- group.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-stopped
	}
}

// newPods returns an informer that is not running, and its server.
func newPods(t *testing.T, options cache.InformerOptions[*corev1.Pod]) (*cache.SharedInformer[*corev1.Pod], *cachetest.Harness) {
	t.Helper()
	h := cachetest.New(t)
	return cache.NewSharedInformer(h, &corev1.Pod{}, options), h
}

// errFailed is what a failing member's Run returns.
var errFailed = errors.New("failed")

// failing is a member without informers that runs until fail is closed, and then fails.
type failing struct{ fail chan struct{} }

func (failing) Views() []cache.View { return nil }

func (f failing) Run(ctx context.Context) error {
	select {
	case <-f.fail:
		return errFailed
	case <-ctx.Done():
		return nil
	}
}

// uncomparable is a member that == cannot compare.
type uncomparable []cache.Viewable

func (u uncomparable) Views() []cache.View { return u[0].Views() }

// shownOnly hides the methods of a member, but for Views.
type shownOnly struct{ cache.Viewable }

// TestGroupRunsMembers runs each kind of member. Run returns nil once its context has ended.
func TestGroupRunsMembers(t *testing.T) {
	for name, members := range map[string]func(t *testing.T) []cache.Viewable{
		"no member": func(*testing.T) []cache.Viewable { return nil },
		"an informer": func(t *testing.T) []cache.Viewable {
			pods, _ := newPods(t, cache.InformerOptions[*corev1.Pod]{})
			return []cache.Viewable{pods}
		},
		"informers of two types": func(t *testing.T) []cache.Viewable {
			pods, _ := newPods(t, cache.InformerOptions[*corev1.Pod]{})
			nodes := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Node{}), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
			return []cache.Viewable{pods, nodes}
		},
		"a controller": func(t *testing.T) []cache.Viewable {
			h := cachetest.New(t)
			_, controller := cache.NewInformer(h, &corev1.Pod{}, 0, cache.ResourceEventHandlerFuncs[*corev1.Pod]{})
			return []cache.Viewable{controller}
		},
		"an informer twice": func(t *testing.T) []cache.Viewable {
			pods, _ := newPods(t, cache.InformerOptions[*corev1.Pod]{})
			return []cache.Viewable{pods, pods}
		},
		"a group": func(t *testing.T) []cache.Viewable {
			pods, _ := newPods(t, cache.InformerOptions[*corev1.Pod]{})
			inner := &cache.Group{}
			inner.Add(pods)
			return []cache.Viewable{inner}
		},
		"members without Run that run": func(t *testing.T) []cache.Viewable {
			pods, _ := newPods(t, cache.InformerOptions[*corev1.Pod]{})
			start(t, pods)
			return []cache.Viewable{shownOnly{pods}, uncomparable{pods}, uncomparable{pods}}
		},
	} {
		for _, later := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					group := &cache.Group{}
					all := members(t)
					if !later {
						group.Add(all...)
					}
					stop := runGroup(t, group)
					group.Add(all...) // a second time, or while the group runs
					if err := group.WaitForSync(testContext(t)); err != nil {
						t.Error(err)
					}
					for _, view := range group.Views() {
						if !view.Status().Synced {
							t.Errorf("%s has not synced", view.UniqueName())
						}
					}
					if err := stop(); err != nil {
						t.Errorf("Run: %v", err)
					}
				})
			})
		}
	}
}

// TestGroupRunsFactories takes an informer of a factory in a group, before and during Run.
func TestGroupRunsFactories(t *testing.T) {
	for _, later := range []bool{false, true} {
		withFactory(t, func(f *factoryHarness) {
			var group cache.Group
			stop := func() error { return nil }
			group.Add(f.Factory)
			if later {
				stop = runGroup(f.t, &group)
			}
			ref, err := cache.InformerFor(f.Factory, f.pods("ns"), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
			if err != nil {
				f.t.Fatal(err)
			}
			if !later {
				stop = runGroup(f.t, &group)
			}
			if err := group.WaitForSync(testContext(f.t)); err != nil || !ref.Informer().HasSynced() {
				f.t.Errorf("error %v, synced: %v", err, ref.Informer().HasSynced())
			}
			if err := stop(); err != nil {
				f.t.Errorf("Run: %v", err)
			}
		})
	}
}

// TestGroupRunsOnce calls Run during and after another one, and adds an informer afterwards, which
// makes no request.
func TestGroupRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group cache.Group
		stop := runGroup(t, &group)
		if err := group.Run(t.Context()); !errors.Is(err, cache.ErrAlreadyRunning) {
			t.Errorf("Run during Run: %v", err)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := group.Run(t.Context()); !errors.Is(err, cache.ErrStopped) {
			t.Errorf("Run after Run: %v", err)
		}
		pods, h := newPods(t, cache.InformerOptions[*corev1.Pod]{})
		group.Add(pods)
		synctest.Wait()
		if len(group.Views()) != 1 || pods.Status().Phase != cache.PhaseIdle || len(h.Requests()) != 0 {
			t.Errorf("%d views, phase %s, requests %v", len(group.Views()), pods.Status().Phase, h.Requests())
		}
		if err := group.WaitForSync(testContext(t)); !errors.Is(err, cache.ErrStopped) {
			t.Errorf("WaitForSync: %v", err)
		}
	})
}

// TestFailedMemberStopsGroup lets one member of a group fail. The others stop, Run returns the
// error, and WaitForSync does not report a group as synced whose informers have left.
func TestFailedMemberStopsGroup(t *testing.T) {
	running, invalid := cache.InformerOptions[*corev1.Pod]{}, cache.InformerOptions[*corev1.Pod]{OmitFields: []string{"spec..a"}}
	for name, test := range map[string]struct {
		add  func(t *testing.T, group *cache.Group)
		want func(error) bool
	}{
		"invalid options": {
			add: func(t *testing.T, group *cache.Group) {
				pods, _ := newPods(t, invalid)
				group.Add(pods)
			},
			want: cachetest.ErrorContains("spec..a"),
		},
		"an informer that runs already": {
			add: func(t *testing.T, group *cache.Group) {
				pods, _ := newPods(t, running)
				start(t, pods)
				synctest.Wait()
				group.Add(pods)
			},
			want: func(err error) bool { return errors.Is(err, cache.ErrAlreadyRunning) },
		},
		"an informer that has stopped": {
			add: func(t *testing.T, group *cache.Group) {
				pods, _ := newPods(t, running)
				start(t, pods)()
				group.Add(pods)
			},
			want: func(err error) bool { return errors.Is(err, cache.ErrStopped) },
		},
		"in an inner group": {
			add: func(t *testing.T, group *cache.Group) {
				pods, _ := newPods(t, invalid)
				inner := &cache.Group{}
				inner.Add(pods)
				group.Add(inner)
			},
			want: cachetest.ErrorContains("spec..a"),
		},
		"another member": {
			add: func(t *testing.T, group *cache.Group) {
				f := failing{make(chan struct{})}
				group.Add(f)
				close(f.fail)
			},
			want: func(err error) bool { return errors.Is(err, errFailed) },
		},
		"after a while": {
			add: func(t *testing.T, group *cache.Group) {
				f := failing{make(chan struct{})}
				group.Add(f)
				time.AfterFunc(time.Minute, func() { close(f.fail) })
			},
			want: func(err error) bool { return errors.Is(err, errFailed) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pods, h := newPods(t, running)
				h.InjectListFault(-1, fake.Fault{Err: fake.Forbidden()})
				var group cache.Group
				group.Add(pods)
				stop := runGroup(t, &group)
				test.add(t, &group)
				waiting, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := group.WaitForSync(waiting); !errors.Is(err, cache.ErrStopped) || !test.want(err) {
					t.Errorf("WaitForSync: %v", err)
				}
				synctest.Wait()
				if !cachetest.ErrorContains("stopped")(pods.WaitForSync(t.Context())) {
					t.Error("the other informer has not stopped")
				}
				if err := group.WaitForSync(t.Context()); !errors.Is(err, cache.ErrStopped) || !test.want(err) {
					t.Errorf("WaitForSync afterwards: %v", err)
				}
				if err := stop(); !test.want(err) {
					t.Errorf("Run: %v", err)
				}
			})
		})
	}
}

// TestGroupWaitReturnsCauses waits for groups whose informers do not sync.
func TestGroupWaitReturnsCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, _ := newPods(t, cache.InformerOptions[*corev1.Pod]{Name: "first"})
		second, h := newPods(t, cache.InformerOptions[*corev1.Pod]{Name: "second"})
		h.InjectListFault(-1, fake.Fault{Err: fake.Forbidden()})
		var group cache.Group
		if err := group.WaitForSync(t.Context()); err != nil {
			t.Errorf("no informers: %v", err)
		}
		group.Add(first, second)
		wait := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			return group.WaitForSync(ctx)
		}
		if err := wait(); !errors.Is(err, context.DeadlineExceeded) || !cachetest.ErrorContains("first")(err) || !cachetest.ErrorContains("second")(err) || !cachetest.ErrorContains("Run has not been called")(err) {
			t.Errorf("before Run: %v", err)
		}
		waited := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go func() { waited <- group.WaitForSync(ctx) }()
		stop := runGroup(t, &group)
		if err := wait(); !errors.Is(err, context.DeadlineExceeded) || cachetest.ErrorContains("first")(err) || !cachetest.ErrorContains("second")(err) || !errors.Is(err, fake.Forbidden()) && !cachetest.ErrorContains("forbidden")(err) {
			t.Errorf("during Run: %v", err)
		}
		h.ClearFaults()
		if err := <-waited; err != nil {
			t.Errorf("a wait that began before Run: %v", err)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// TestGroupStopsWhileInformersAreAdded adds informers from several goroutines while Run returns.
// Each of them runs until Run returns, or not at all.
func TestGroupStopsWhileInformersAreAdded(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			var group cache.Group
			stop := runGroup(t, &group)
			var adding sync.WaitGroup
			var informers []*cache.SharedInformer[*corev1.Pod]
			for range 4 {
				pods, _ := newPods(t, cache.InformerOptions[*corev1.Pod]{})
				informers = append(informers, pods)
				adding.Go(func() { group.Add(pods) })
			}
			if err := stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
			adding.Wait()
			for _, pods := range informers {
				if phase := pods.Status().Phase; phase != cache.PhaseIdle && phase != cache.PhaseStopped {
					t.Errorf("phase %s after Run", phase)
				}
			}
		})
	}
}
