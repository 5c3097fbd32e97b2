// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestWatchListNeedsGateAndSupport checks that an informer requests a WatchList if the feature gate
// is on when it starts, unless the ListerWatcher declares that it does not support WatchList.
func TestWatchListNeedsGateAndSupport(t *testing.T) {
	for name, test := range map[string]struct {
		gate, unsupported, want bool
	}{
		"gate on":               {gate: true, want: true},
		"gate off":              {gate: false},
		"gate on, unsupported":  {gate: true, unsupported: true},
		"gate off, unsupported": {gate: false, unsupported: true},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server := newServer("a")
			var lw clientcache.ListerWatcher = server
			if test.unsupported {
				lw = clientcache.ToListWatcherWithWatchListSemantics(server.listWatch(), noWatchList{})
			}
			h := run(t, lw, clientgo.Options{}, func(clientcache.SharedIndexInformer) {
				featurestesting.SetFeatureDuringTest(t, features.WatchListClient, test.gate)
			})
			h.expectEvents("A a@2 initial")
			first := server.Requests()[0]
			if got := first.Options.SendInitialEvents != nil; got != test.want {
				t.Errorf("the first request was %s %+v", first.Verb, first.Options)
			}
		})
	}
}

// TestListWatchReceivesContextOfRun checks that the functions of a ListWatch receive the context of
// Run. Controller-runtime sets only the functions that take a context.
func TestListWatchReceivesContextOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		server := newServer("a")
		var seen []any
		lw := &clientcache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				seen = append(seen, ctx.Value(key{}))
				return server.ListerWatcher.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				seen = append(seen, ctx.Value(key{}))
				return server.ListerWatcher.Watch(ctx, options)
			},
		}
		informer := plain.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
		stop := background(t, func(ctx context.Context) { informer.RunWithContext(context.WithValue(ctx, key{}, "the run's")) })
		synctest.Wait()
		stop()
		if len(seen) == 0 || seen[0] != "the run's" || !informer.HasSynced() {
			t.Errorf("the functions received contexts with the values %v", seen)
		}
	})
}

// TestWatchListWithoutBookmarksFallsBackToList removes bookmarks from requests, as
// controller-runtime does. A WatchList then never ends, and the informer lists instead.
func TestWatchListWithoutBookmarksFallsBackToList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		server.onWatch = func(options *metav1.ListOptions) { options.AllowWatchBookmarks = false }
		h := run(t, server, clientgo.Options{})
		<-h.informer.HasSyncedChecker().Done()
		h.expectEvents("A a@2 initial")
		lists := 0
		for _, request := range server.Requests() {
			if request.Verb == "list" {
				lists++
			}
		}
		if lists != 1 {
			t.Errorf("%d lists, want 1", lists)
		}
	})
}

// TestFilteredWatchIsDrained filters watches as metadata clients do: the Status of an ERROR event
// has a kind of its own, and after Stop the watch blocks until its events are read.
func TestFilteredWatchIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		lw := &clientcache.ListWatch{
			ListWithContextFunc: server.ListerWatcher.List,
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				stream, err := server.ListerWatcher.Watch(ctx, options)
				if err != nil {
					return nil, err
				}
				return watch.Filter(stream, func(event watch.Event) (watch.Event, bool) {
					event.Object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
					return event, true
				}), nil
			},
		}
		h := run(t, lw, clientgo.Options{})
		h.expectEvents("A a@2 initial")
		server.sendExpired()
		server.Create(cachetest.Pod("b"))
		h.waitForKey("ns/b")
		h.expectEvents("A b@3")
		server.Create(cachetest.Pod("c")) // the informer stops before it reads the event
		h.stop()
	})
}

// TestRequestOptions checks the options of the first requests, which tests of programs compare.
func TestRequestOptions(t *testing.T) {
	yes := true
	for name, test := range map[string]struct {
		watchList bool
		want      []metav1.ListOptions
	}{
		"list": {false, []metav1.ListOptions{
			{ResourceVersion: "0", Limit: 500},
			{ResourceVersion: "2", AllowWatchBookmarks: true},
		}},
		"WatchList": {true, []metav1.ListOptions{
			{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, test.watchList)
			synctest.Test(t, func(t *testing.T) {
				server := newServer("a")
				run(t, server, clientgo.Options{}).expectEvents("A a@2 initial")
				var got []metav1.ListOptions
				for _, request := range server.Requests() {
					if (request.Options.TimeoutSeconds != nil) != (request.Verb == "watch") {
						t.Errorf("%s request has a timeout: %v", request.Verb, request.Options.TimeoutSeconds != nil)
					}
					request.Options.TimeoutSeconds = nil
					got = append(got, request.Options)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestRelistVersions checks that a relist after a 410 requests the last version, and the version ""
// only if the server refuses that.
func TestRelistVersions(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false)
	for name, test := range map[string]struct {
		fault error
		want  []string
	}{
		"410 on watch":              {nil, []string{"0", "2"}},
		"410 on watch and list":     {apierrors.NewResourceExpired("gone"), []string{"0", "2", ""}},
		"version too large on list": {tooLargeError(), []string{"0", "2", ""}},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server := newServer("a")
			h := run(t, server, clientgo.Options{})
			if test.fault != nil {
				server.InjectListFault(1, fake.Fault{Err: test.fault})
			}
			server.sendExpired()
			server.Create(cachetest.Pod("b"))
			h.waitForKey("ns/b")
			var got []string
			for _, request := range server.Requests() {
				if request.Verb == "list" {
					got = append(got, request.Options.ResourceVersion)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("versions of the lists (-want +got):\n%s", diff)
			}
		})
	}
}

// tooLargeError returns the error of a server that has not reached the requested version.
func tooLargeError() error {
	err := apierrors.NewTimeoutError("Too large resource version", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	err.ErrStatus.Code = http.StatusGatewayTimeout
	return err
}

// TestFailedWatchList checks the requests that follow failed WatchLists, and that the watch error
// handler receives no error of them.
func TestFailedWatchList(t *testing.T) {
	closedEarly, busy := fake.Fault{CloseAfterEvents: 1}, fake.Fault{Err: apierrors.NewTooManyRequests("later", 1)}
	for name, test := range map[string]struct {
		faults []fake.Fault
		want   string // the first requests, as of server.verbs
	}{
		"refused":              {[]fake.Fault{{Err: errRefused}}, "Wl"},
		"429":                  {[]fake.Fault{busy, busy, busy}, "WWWW"},
		"429 in the stream":    {[]fake.Fault{{EditEvent: sendInstead(busy.Err)}}, "WW"},
		"closed early":         {[]fake.Fault{closedEarly}, "WW"},
		"closed early and 429": {[]fake.Fault{closedEarly, busy}, "WWW"},
		"closed early twice":   {[]fake.Fault{closedEarly, busy, closedEarly}, "WWWl"},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server := newServer("a", "b")
			for _, fault := range test.faults {
				server.InjectWatchFault(1, fault)
			}
			var errs errorRecorder
			h := run(t, server, clientgo.Options{}, errs.handle(t))
			<-h.informer.HasSyncedChecker().Done()
			if got, _ := strings.CutSuffix(server.verbs(), "w"); got != test.want {
				t.Errorf("requests %q, want %q", got, test.want)
			}
			if got := errs.all(); len(got) != 0 {
				t.Errorf("the watch error handler received %v, want nothing", got)
			}
		})
	}
}

// sendInstead returns an EditEvent function that sends an error instead of each event.
func sendInstead(err error) func(watch.Event) []watch.Event {
	return func(watch.Event) []watch.Event { return []watch.Event{fake.ErrorEvent(err)} }
}

// TestInitialStateEndsAtAnnotationTrue checks that a bookmark ends the initial state only if its
// annotation has the value "true".
func TestInitialStateEndsAtAnnotationTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		server.InjectWatchFault(1, fake.Fault{EditEvent: func(event watch.Event) []watch.Event {
			if event.Type == watch.Bookmark {
				event.Object.(*corev1.Pod).Annotations[metav1.InitialEventsAnnotationKey] = "yes"
			}
			return []watch.Event{event}
		}})
		h := run(t, server, clientgo.Options{})
		if h.informer.HasSynced() {
			t.Error("the informer has synced")
		}
		server.CloseWatches()
		<-h.informer.HasSyncedChecker().Done()
	})
}
