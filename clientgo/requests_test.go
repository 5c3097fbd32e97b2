package clientgo_test

import (
	"context"
	"net/http"
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
	"k8s.io/client-go/kubernetes"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
)

// The facts are those that programs written for client-go count on, by their numbers.

// podsOf lists and watches Pods as generated factories do.
func podsOf(client kubernetes.Interface) clientcache.ListerWatcher {
	return clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods("").List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("").Watch(ctx, options)
		},
	}, client)
}

// The fake clientset gives neither resourceVersion nor UID, before and after an update;
// every change arrives all the same.
func TestFact01FakeClientsetsHaveNoVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientfake.NewClientset(pod("a"))
		pods := client.CoreV1().Pods("ns")
		s := run(t, podsOf(client), clientgo.Options{})
		s.expect("A a initial")
		for _, err := range []error{
			result(pods.Create(t.Context(), pod("b"), metav1.CreateOptions{})),
			result(pods.Update(t.Context(), labelled(pod("b"), "v", "1"), metav1.UpdateOptions{})),
			result(pods.Update(t.Context(), labelled(pod("b"), "v", "2"), metav1.UpdateOptions{})),
			pods.Delete(t.Context(), "a", metav1.DeleteOptions{}),
		} {
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		s.expect("A b", "U b", "U b", "D a")
		if obj, ok, _ := s.informer.GetStore().GetByKey("ns/b"); !ok || obj.(*corev1.Pod).Labels["v"] != "2" {
			t.Errorf("the store has %v, %v", obj, ok)
		}
	})
}

func result[T any](_ T, err error) error { return err }

// FakeControllerSource lists a v1.List of anything, and its watch delivers the pointers that
// the test has given it.
func TestFact02FakeControllerSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := fcache.NewFakeControllerSource()
		defer source.Shutdown()
		source.Add(pod("a"))
		s := run(t, source, clientgo.Options{})
		s.expect("A a@1 initial")
		mine := pod("b")
		source.Add(mine)
		source.Modify(labelled(pod("a"), "v", "1"))
		source.Delete(pod("a"))
		s.expect("A b@2", "U a@3", "D a@4")
		if obj, _, _ := s.informer.GetStore().GetByKey("ns/b"); obj.(*corev1.Pod).Name != mine.Name {
			t.Errorf("the store has %v", obj)
		}
	})
}

// The gate is read when the informer starts; a source that declares not to know WatchList is
// not asked for it, whatever the gate says.
func TestFact03WatchListOnlyWhereItIsKnownAndWanted(t *testing.T) {
	for name, test := range map[string]struct {
		gate, unknown, want bool
	}{
		"wanted":            {gate: true, want: true},
		"the gate is off":   {gate: false},
		"it is not known":   {gate: true, unknown: true},
		"neither of either": {gate: false, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer("a")
				var lw clientcache.ListerWatcher = server
				if test.unknown {
					lw = clientcache.ToListWatcherWithWatchListSemantics(server.listWatch(), declares{})
				}
				s := run(t, lw, clientgo.Options{}, func(clientcache.SharedIndexInformer) {
					featurestesting.SetFeatureDuringTest(t, features.WatchListClient, test.gate)
				})
				s.expect("A a@2 initial")
				first := server.Requests()[0]
				if got := first.Options.SendInitialEvents != nil; got != test.want {
					t.Errorf("the first request was %s %+v", first.Verb, first.Options)
				}
			})
		})
	}
}

type declares struct{}

func (declares) IsWatchListSemanticsUnSupported() bool { return true }

// A bare ListWatch of controller-runtime's has the functions with a context only; the
// context is that of the run.
func TestFact04FunctionsGetTheContext(t *testing.T) {
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
		informer := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, nil)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "the run's"))
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			informer.RunWithContext(ctx)
		}()
		synctest.Wait()
		cancel()
		<-stopped
		if len(seen) == 0 || seen[0] != "the run's" || !informer.HasSynced() {
			t.Errorf("the functions saw %v", seen)
		}
	})
}

// controller-runtime takes bookmarks off requests: a WatchList then never ends, and is given
// up for a list.
func TestFact05WithoutBookmarksItLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		server.onWatch = func(options *metav1.ListOptions) { options.AllowWatchBookmarks = false }
		s := run(t, server, clientgo.Options{})
		<-s.informer.HasSyncedChecker().Done()
		s.expect("A a@2 initial")
		lists := 0
		for _, request := range server.Requests() {
			if request.Verb == "list" {
				lists++
			}
		}
		if lists != 1 {
			t.Errorf("%d lists", lists)
		}
	})
}

// Metadata clients write a kind on the Status of an ERROR event, too; after Stop their
// watches block on what nobody reads.
func TestFact06WatchesThatAreFiltered(t *testing.T) {
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
		s := run(t, lw, clientgo.Options{})
		s.expect("A a@2 initial")
		expired := apierrors.NewResourceExpired("gone").Status()
		server.Send(watch.Event{Type: watch.Error, Object: &expired})
		server.Create(pod("b"))
		patience(s, "ns/b")
		s.expect("A b@3")
		server.Create(pod("c")) // and nobody waits until it is read
		s.stop()
	})
}

// What is asked for is compared exactly in people's tests.
func TestFact07Requests(t *testing.T) {
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
				run(t, server, clientgo.Options{}).expect("A a@2 initial")
				var got []metav1.ListOptions
				for _, request := range server.Requests() {
					if (request.Options.TimeoutSeconds != nil) != (request.Verb == "watch") {
						t.Errorf("%s with a timeout: %v", request.Verb, request.Options.TimeoutSeconds != nil)
					}
					request.Options.TimeoutSeconds = nil
					got = append(got, request.Options)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("requests, - wanted, + made:\n%s", diff)
				}
			})
		})
	}
}

// A 410 on the watch relists at the last version; only one on the list falls to "".
func TestFact08VersionsAfterTrouble(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false)
	gone := apierrors.NewResourceExpired("gone")
	for name, test := range map[string]struct {
		fault error
		want  []string
	}{
		"410 on the watch":        {nil, []string{"0", "2"}},
		"410 on the list, too":    {gone, []string{"0", "2", ""}},
		"the list's is too large": {tooLarge(), []string{"0", "2", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer("a")
				s := run(t, server, clientgo.Options{})
				if test.fault != nil {
					server.InjectListFault(1, fake.Fault{Err: test.fault})
				}
				expired := gone.Status()
				server.Send(watch.Event{Type: watch.Error, Object: &expired})
				server.Create(pod("b"))
				patience(s, "ns/b")
				var got []string
				for _, request := range server.Requests() {
					if request.Verb == "list" {
						got = append(got, request.Options.ResourceVersion)
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("versions listed, - wanted, + asked for:\n%s", diff)
				}
			})
		})
	}
}

func tooLarge() error {
	err := apierrors.NewTimeoutError("Too large resource version", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	err.ErrStatus.Code = http.StatusGatewayTimeout
	return err
}

// What a WatchList fails with decides what comes next.
func TestFact09WatchListFails(t *testing.T) {
	for name, test := range map[string]struct {
		fault fake.Fault
		want  string // the requests until it has synced: l, w, W for a WatchList
		told  int    // errors
	}{
		"an error is nobody's business":        {fake.Fault{Err: errRefused}, "Wl", 0},
		"429 asks for patience":                {fake.Fault{Err: apierrors.NewTooManyRequests("later", 1)}, "WW", 1},
		"closed before its end is tried again": {fake.Fault{CloseAfterEvents: 1}, "WW", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer("a", "b")
				server.InjectWatchFault(1, test.fault)
				var errs failures
				s := run(t, server, clientgo.Options{}, errs.listen(t))
				<-s.informer.HasSyncedChecker().Done()
				if got := server.verbs()[:len(test.want)]; got != test.want {
					t.Errorf("requests %q, want %q", got, test.want)
				}
				if got := errs.all(); len(got) != test.told {
					t.Errorf("the watch error handler was told %v", got)
				}
			})
		})
	}
}

// Only "true" ends the initial state, and the watch goes on from its version.
func TestFact09OnlyTrueEndsTheInitialState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		server.InjectWatchFault(1, fake.Fault{EditEvent: func(event watch.Event) []watch.Event {
			if event.Type == watch.Bookmark {
				event.Object.(*corev1.Pod).Annotations[metav1.InitialEventsAnnotationKey] = "yes"
			}
			return []watch.Event{event}
		}})
		s := run(t, server, clientgo.Options{})
		if s.informer.HasSynced() {
			t.Error("it has synced")
		}
		server.CloseWatches()
		<-s.informer.HasSyncedChecker().Done()
	})
}
