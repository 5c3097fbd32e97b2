// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// faultySource is the source of a harness. Its lists and watches may be replaced.
type faultySource struct {
	*cachetest.Harness
	mu    sync.Mutex // guards the fields below
	list  func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	watch func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

func (s *faultySource) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	list := s.list
	s.mu.Unlock()
	if list == nil {
		list = s.Harness.List
	}
	return list(ctx, options)
}

func (s *faultySource) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	watch := s.watch
	s.mu.Unlock()
	if watch == nil {
		watch = s.Harness.Watch
	}
	return watch(ctx, options)
}

// repair ends all faults, and the watches that have one.
func (s *faultySource) repair() {
	s.mu.Lock()
	s.list, s.watch = nil, nil
	s.mu.Unlock()
	s.ClearFaults()
	s.BookmarkEvery(0) // a fault may have made the server send one each millisecond
	s.CloseWatches()
}

// againToken begins the continue tokens of edited lists, to which the server sends the first page.
const againToken = "again"

// editLists edits each list with the options of its request. If edit is nil, lists are as they are.
func (s *faultySource) editLists(edit func(options metav1.ListOptions, list metav1.ListInterface) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list = nil; edit == nil {
		return
	}
	s.list = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		asked := options
		if strings.HasPrefix(options.Continue, againToken) {
			options.Continue = ""
		}
		list, err := s.Harness.List(ctx, options)
		if err != nil {
			return nil, err
		}
		accessor, err := meta.ListAccessor(list)
		if err != nil {
			return nil, err
		}
		return list, edit(asked, accessor)
	}
}

// editLists returns a source whose lists are edited, and a function that makes it that of a
// harness.
func editLists(edit func(options metav1.ListOptions, list metav1.ListInterface) error) (between func(h *cachetest.Harness), source *faultySource) {
	source = &faultySource{}
	source.editLists(edit)
	return func(h *cachetest.Harness) {
		source.Harness = h
		h.Source = source
	}, source
}

// lastingFault is a fault of all lists, or of all watches, until the source is repaired.
type lastingFault func(s *faultySource)

func failLists(err error) lastingFault {
	return func(s *faultySource) { s.InjectListFault(-1, fake.Fault{Err: err}) }
}

func failWatches(err error) lastingFault {
	return func(s *faultySource) { s.InjectWatchFault(-1, fake.Fault{Err: err}) }
}

func editEachList(edit func(options metav1.ListOptions, list metav1.ListInterface) error) lastingFault {
	return func(s *faultySource) { s.editLists(edit) }
}

// endWatches makes each watch end with an event in place of its first one.
func endWatches(event watch.Event) lastingFault {
	return func(s *faultySource) {
		s.BookmarkEvery(time.Second)
		s.InjectWatchFault(-1, fake.Fault{EditEvent: func(watch.Event) []watch.Event {
			if event.Object != nil {
				event.Object = event.Object.DeepCopyObject()
			}
			return []watch.Event{event}
		}})
	}
}

func closeWatches(after time.Duration) lastingFault {
	return func(s *faultySource) { s.InjectWatchFault(-1, fake.Fault{CloseIn: after}) }
}

var lastingListFaults = map[string]lastingFault{
	"500":                   failLists(fake.InternalError()),
	"503":                   failLists(apierrors.NewServiceUnavailable("starting")),
	"429 with Retry-After":  failLists(fake.TooManyRequests(1)),
	"403":                   failLists(fake.Forbidden()),
	"410":                   failLists(fake.Expired()),
	"504 too large":         failLists(fake.TooLargeResourceVersion()),
	"connection refused":    failLists(cachetest.ErrConnectionRefused),
	"connection reset":      failLists(cachetest.ErrConnectionReset),
	"no answer":             func(s *faultySource) { s.InjectListFault(-1, fake.Fault{Hold: make(chan struct{})}) },
	"answer after a minute": func(s *faultySource) { s.InjectListFault(-1, fake.Fault{Delay: time.Minute}) },
	"replica that lags":     func(s *faultySource) { s.InjectListFault(-1, fake.Fault{ResourceVersion: "3"}) },
	"another kind": func(s *faultySource) {
		s.InjectListFault(-1, fake.Fault{EditList: func(runtime.Object) runtime.Object { return &corev1.NodeList{} }})
	},
	"no version": editEachList(func(_ metav1.ListOptions, list metav1.ListInterface) error {
		list.SetResourceVersion("")
		return nil
	}),
	"500 at one version": editEachList(func(options metav1.ListOptions, _ metav1.ListInterface) error {
		if options.ResourceVersion != "" && options.Continue == "" {
			return fake.InternalError()
		}
		return nil
	}),
	"500 but for the version": editEachList(func(options metav1.ListOptions, _ metav1.ListInterface) error {
		if options.ResourceVersion == "" {
			return fake.InternalError()
		}
		return nil
	}),
	"one token forever": editEachList(func(_ metav1.ListOptions, list metav1.ListInterface) error {
		list.SetContinue(againToken)
		return nil
	}),
	"every token expires": editEachList(func(options metav1.ListOptions, list metav1.ListInterface) error {
		if options.Continue != "" {
			return fake.Expired()
		}
		list.SetContinue(againToken)
		return nil
	}),
}

var lastingWatchFaults = map[string]lastingFault{
	"500":                            failWatches(fake.InternalError()),
	"503":                            failWatches(apierrors.NewServiceUnavailable("starting")),
	"429":                            failWatches(fake.TooManyRequests(0)),
	"403":                            failWatches(fake.Forbidden()),
	"410":                            failWatches(fake.Expired()),
	"504 too large":                  failWatches(fake.TooLargeResourceVersion()),
	"connection refused":             failWatches(cachetest.ErrConnectionRefused),
	"connection reset":               failWatches(cachetest.ErrConnectionReset),
	"410 in the stream":              endWatches(fake.ErrorEvent(fake.Expired())),
	"500 in the stream":              endWatches(fake.ErrorEvent(fake.InternalError())),
	"504 too large in the stream":    endWatches(fake.ErrorEvent(fake.TooLargeResourceVersion())),
	"429 in the stream":              endWatches(fake.ErrorEvent(fake.TooManyRequests(0))),
	"429 in the stream, Retry-After": endWatches(fake.ErrorEvent(fake.TooManyRequests(1))),
	"Status as an object":            endWatches(watch.Event{Type: watch.Modified, Object: fake.ErrorEvent(fake.Expired()).Object}),
	"event without an object":        endWatches(watch.Event{Type: watch.Added}),
	"object without metadata":        endWatches(watch.Event{Type: watch.Modified, Object: &corev1.Pod{}}),
	"object of another kind":         endWatches(watch.Event{Type: watch.Added, Object: cachetest.Node("n", "9")}),
	"unknown event type":             endWatches(watch.Event{Type: "PATCHED", Object: cachetest.Pod("a", cachetest.WithVersion("999"))}),
	"older state":                    endWatches(watch.Event{Type: watch.Modified, Object: cachetest.Pod("a", cachetest.WithVersion("1"))}),
	"older bookmark":                 endWatches(watch.Event{Type: watch.Bookmark, Object: cachetest.Pod("", cachetest.WithVersion("1"))}),
	"closed at once":                 func(s *faultySource) { s.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: -1}) },
	"closed after an event":          func(s *faultySource) { s.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1}) },
	"closed after a bookmark": func(s *faultySource) {
		s.BookmarkEvery(time.Millisecond)
		s.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1})
	},
	"closed after a millisecond": closeWatches(time.Millisecond),
	"closed after 2 s":           closeWatches(2 * time.Second),
	"closed after 5 s":           closeWatches(5 * time.Second),
	"closed after 30 s":          closeWatches(30 * time.Second),
	"closed after 45 s":          closeWatches(45 * time.Second),
	"closed after 2 min":         closeWatches(2 * time.Minute),
	"no answer":                  func(s *faultySource) { s.InjectWatchFault(-1, fake.Fault{Hold: make(chan struct{})}) },
	"no event":                   func(s *faultySource) { s.InjectWatchFault(-1, fake.Fault{Stall: true}) },
	"no end of the initial state": func(s *faultySource) {
		s.InjectWatchFault(-1, fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark})
	},
	"typed nil": func(s *faultySource) {
		s.watch = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if w, err := s.Harness.Watch(ctx, options); err == nil {
				w.Stop()
			}
			return (*watch.StreamWatcher)(nil), nil
		}
	},
}

// failAll makes all requests fail.
func failAll(err error) lastingFault {
	return func(s *faultySource) {
		failLists(err)(s)
		failWatches(err)(s)
	}
}

// lastingFaults are faults of all lists and all watches.
var lastingFaults = map[string]lastingFault{
	"500":                failAll(fake.InternalError()),
	"503":                failAll(apierrors.NewServiceUnavailable("starting")),
	"429":                failAll(fake.TooManyRequests(0)),
	"403":                failAll(fake.Forbidden()),
	"404":                failAll(apierrors.NewNotFound(cachetest.PodResource, "")),
	"410":                failAll(fake.Expired()),
	"504 too large":      failAll(fake.TooLargeResourceVersion()),
	"connection refused": failAll(cachetest.ErrConnectionRefused),
	"connection reset":   failAll(cachetest.ErrConnectionReset),
	"no version, 410": func(s *faultySource) {
		lastingListFaults["no version"](s)
		lastingWatchFaults["410"](s)
	},
}

// runFaulty runs a test with an informer whose source begins to fail before it runs, or after its
// initial list, and checks the rate of requests during the failure, and that of lists if
// limitsLists is true. Once the source is repaired, the store becomes equal to the server's state
// within some time.
func runFaulty(t *testing.T, watchList, synced, limitsLists bool, lasting, within time.Duration, faults ...lastingFault) {
	t.Helper()
	var source *faultySource
	begin := func(h *cachetest.Harness) {
		for _, inject := range faults {
			inject(source)
		}
		h.UpdateEverySecond(int(lasting / time.Second))
	}
	cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{WatchList: watchList}, func(h *cachetest.Harness) {
		if synced {
			h.ExpectSynced()
			cachetest.Advance(time.Minute)
			begin(h)
			h.CloseWatches()
		}
		began := time.Now()
		cachetest.Advance(lasting)
		h.ExpectRequestRate(h.Requests()[0].Time)
		if limitsLists {
			h.ExpectRates(began.Add(time.Minute))
		}
		source.repair()
		recovers(h, within)
	}, func(h *cachetest.Harness) {
		source = &faultySource{Harness: h}
		h.Source = source
		if !synced {
			begin(h)
		}
	})
}

// recovers checks that the store becomes equal to the server's state in time.
func recovers(h *cachetest.Harness, within time.Duration) {
	h.T.Helper()
	cachetest.Advance(within)
	h.ExpectStored(h.Served())
	if status := h.Controller.Status(); status.Err != nil || status.Phase != cache.PhaseWatching || !status.Synced {
		h.T.Errorf("status %v after the failure: %+v", within, status)
	}
	h.ExpectRequestRate(h.Requests()[0].Time)
}

// recoveryFrom returns how long an informer may take to recover: a minute for each fault, unless it
// waits for an answer that does not come, until it gives the request up.
func recoveryFrom(names ...string) time.Duration {
	if slices.Contains(names, "no answer") || slices.Contains(names, "no event") {
		return 13 * time.Minute
	}
	return time.Duration(len(names)) * time.Minute
}

// TestRequestRateIsBoundedForEachLastingFault lets every list, every watch, or both fail for twelve
// minutes. The informer makes at most 22 requests in any minute, and 130 in any ten minutes, from
// the first one on, and at most four lists in any minute from the second one on. After the first
// minute it makes at least one request, which may have to wait until a watch is given up: ten and a
// quarter minutes.
func TestRequestRateIsBoundedForEachLastingFault(t *testing.T) {
	for kind, faults := range map[string]map[string]lastingFault{"lists": lastingListFaults, "watches": lastingWatchFaults, "both": lastingFaults} {
		for name, fault := range faults {
			for _, watchList := range []bool{false, true} {
				for _, synced := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s: %s, WatchList %v, synced before: %v", kind, name, watchList, synced), func(t *testing.T) {
						limitsLists := !strings.Contains(name, "token") // each page is a list request
						runFaulty(t, watchList, synced, limitsLists, 12*time.Minute, recoveryFrom(name), fault)
					})
				}
			}
		}
	}
}

// TestRequestRateIsBoundedForPairsOfFaults lets lists and watches fail at the same time, each in
// one of many ways.
func TestRequestRateIsBoundedForPairsOfFaults(t *testing.T) {
	i := 0
	for listName, list := range lastingListFaults {
		for watchName, watch := range lastingWatchFaults {
			for _, watchList := range []bool{false, true} {
				if i++; !sampled(i) { // in the random order of the maps
					continue
				}
				t.Run(fmt.Sprintf("lists: %s, watches: %s, WatchList %v", listName, watchName, watchList), func(t *testing.T) {
					runFaulty(t, watchList, true, false, 5*time.Minute, recoveryFrom(listName, watchName), list, watch)
				})
			}
		}
	}
}
