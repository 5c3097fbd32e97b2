// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientfake "k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestWriteAfterSyncReachesTheHandler writes to the fakes of client-go as soon as the informer, or
// the registration of its handler, has synced. The watch is opened at once, or later than the list.
// The fakes send no change that was made before.
func TestWriteAfterSyncReachesTheHandler(t *testing.T) {
	for delay, rounds := range map[time.Duration]int{0: 20, 300 * time.Millisecond: 1} {
		for _, waitFor := range []string{"informer", "registration"} {
			for _, initial := range []bool{false, true} {
				t.Run(fmt.Sprintf("watch after %v, %s, initial object=%v", delay, waitFor, initial), func(t *testing.T) {
					for range rounds {
						synctest.Test(t, func(t *testing.T) {
							pods := clientfake.NewSimpleClientset().CoreV1().Pods("ns")
							writeAfterSync(t, podsClient(t, pods), delay, waitFor, initial)
						})
						synctest.Test(t, func(t *testing.T) {
							pods := clientfake.NewClientset().CoreV1().Pods("ns")
							writeAfterSync(t, podsClient(t, pods), delay, waitFor, initial)
						})
						synctest.Test(t, func(t *testing.T) { writeAfterSync(t, dynamicClient(t), delay, waitFor, initial) })
						synctest.Test(t, func(t *testing.T) { writeAfterSync(t, metadataClient(t), delay, waitFor, initial) })
					}
				})
			}
		}
	}
}

func writeAfterSync[T cache.Object](t *testing.T, client fakeClient[T], delay time.Duration, waitFor string, initial bool) {
	t.Helper()
	lw := client.lw()
	open := lw.WatchFunc
	lw.WatchFunc = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		<-time.After(delay)
		return open(ctx, options)
	}
	write := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
	}
	want := []string{"Add b", "Update b", "Delete b"}
	if initial {
		write(client.create("a", "0"))
		want = []string{"Add a", "Add b", "Update b", "Delete b", "Update a", "Delete a"}
	}
	informer := cache.NewSharedInformer(lw, client.example, cache.InformerOptions[T]{})
	var events []string
	registration := handle(t, informer, func(e cache.Event[T]) { events = append(events, string(e.Type)+" "+e.Object().GetName()) })
	stop := start(t, informer)
	if waitFor == "registration" {
		<-registration.Synced()
	} else if err := informer.WaitForSync(t.Context()); err != nil || !informer.HasSynced() {
		t.Error(informer.HasSynced(), err)
	}
	write(client.create("b", "0"), client.update("b", "1"), client.remove("b"))
	if initial {
		write(client.update("a", "1"), client.remove("a"))
	}
	synctest.Wait()
	if !slices.Equal(events, want) {
		t.Errorf("the handler received %q, want %q", events, want)
	}
	stop()
}

// TestServerIsKnownBeforeItsWatch runs informers of a server that answers lists, and no watch. They
// sync at once, since the clock stands still: the server is known by its response to the list. An
// informer whose functions do not pass their context on syncs after 1 s.
func TestServerIsKnownBeforeItsWatch(t *testing.T) {
	list := `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"5"},"items":[`
	for items, body := range map[string]string{
		"empty": list + `]}`, "one object": list + `{"metadata":{"namespace":"ns","name":"a","uid":"1","resourceVersion":"4"}}]}`,
	} {
		for name, test := range map[string]struct{ streaming, noContext bool }{"streamed": {true, false}, "decoded": {false, false}, "without context": {false, true}} {
			t.Run(items+", "+name, func(t *testing.T) {
				watched := make(chan bool, 100)
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Has("watch") {
						watched <- true
						<-r.Context().Done()
						return
					}
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(body))
				}))
				t.Cleanup(server.Close)
				config := &rest.Config{Host: server.URL, QPS: -1}
				if test.streaming {
					cache.EnableStreaming(config)
				}
				pods := corev1client.NewForConfigOrDie(config).Pods("ns")
				lw := cache.ListWatchOf(pods)
				if test.noContext {
					lw.ListFunc = func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
						return pods.List(context.Background(), options)
					}
				}
				clock := clocktesting.NewFakeClock(time.Now())
				informer := cache.NewSharedInformer(lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Clock: clock})
				registration := handle(t, informer, func(cache.Event[*corev1.Pod]) {})
				start(t, informer)
				if test.noContext {
					cachetest.Next(t, watched)
					if informer.HasSynced() || registration.HasSynced() {
						t.Error("synced before the watch was open")
					}
					clock.Step(time.Second)
				}
				if err := informer.WaitForSync(testContext(t)); err != nil {
					t.Fatal(err)
				}
				cachetest.Next(t, registration.Synced())
			})
		}
	}
}
