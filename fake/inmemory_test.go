// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// startInMemory starts a server without a port in the test's bubble.
func startInMemory(t *testing.T) *fake.APIServer {
	t.Helper()
	return startServer(t, fake.APIServerOptions{InMemory: true, Token: "secret"})
}

// An informer syncs, receives events, survives an outage and stops, in a bubble and on its clock.
// Neither a request that has ended nor one whose context has ended leaves a goroutine.
func TestInMemoryServerInBubble(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming=%t", streaming), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runInBubble(t, streaming) })
		})
	}
}

func runInBubble(t *testing.T, streaming bool) {
	t.Helper()
	began := time.Now()
	server := startInMemory(t)
	idle := len(cachetest.BubbleGoroutines())
	must(t, server.Create(pod("a")))
	config := server.Config()
	if streaming {
		cache.EnableStreaming(config)
	}
	client := kubernetes.NewForConfigOrDie(config)
	informer := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- informer.Run(ctx) }()
	synctest.Wait()
	if !informer.HasSynced() || informer.Store().Len() != 1 || informer.Status().Requests.Streaming != streaming {
		t.Fatalf("got status %+v, %d objects, want synced with 1 object", informer.Status(), informer.Store().Len())
	}
	_, err := client.CoreV1().Pods("ns").Create(ctx, pod("b"), metav1.CreateOptions{})
	must(t, err)
	synctest.Wait()
	if informer.Store().Len() != 2 {
		t.Errorf("got %d objects after a create, want 2", informer.Store().Len())
	}
	if passed := time.Since(began); passed != 0 {
		t.Errorf("%v passed on the clock of the bubble, want none", passed)
	}
	server.InjectFault(-1, nil, fake.Fault{Err: fake.InternalError()})
	server.TruncateWatchCache()
	time.Sleep(time.Hour) // longer than any watch
	if informer.Status().Err == nil {
		t.Error("the outage is not seen")
	}
	server.ClearFaults()
	must(t, server.Delete(pod("a")))
	time.Sleep(time.Minute) // longer than the backoff
	if informer.Store().Len() != 1 || informer.Status().Err != nil {
		t.Errorf("got %d objects, %v after the outage, want 1", informer.Store().Len(), informer.Status().Err)
	}
	cancel()
	must(t, <-stopped)
	if left := cachetest.BubbleGoroutines(); len(left) != idle {
		t.Errorf("got %d goroutines after the context has ended, want %d:\n%s", len(left), idle, strings.Join(left, "\n\n"))
	}
}

// Close ends open watches and refuses requests that follow.
func TestInMemoryServerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := startInMemory(t)
		client := kubernetes.NewForConfigOrDie(server.Config())
		w, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
		must(t, err)
		must(t, server.Close(t.Context()))
		if e, ok := <-w.ResultChan(); ok {
			t.Errorf("got event %v after Close, want the end of the watch", e)
		}
		if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("list after Close: got %v, want a refused connection", err)
		}
	})
}

// A fault cuts the connection in memory as it does one of sockets, and a blocked client delays no
// other one.
func TestInMemoryServerFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := startInMemory(t)
		for i := range 100 {
			must(t, server.Create(pod(fmt.Sprint("p", i))))
		}
		client := kubernetes.NewForConfigOrDie(server.Config())
		server.InjectFault(1, nil, fake.Fault{CutAfterBytes: 100})
		if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "EOF") {
			t.Errorf("list with a cut response: got %v, want an EOF", err)
		}
		server.InjectFault(1, nil, fake.Fault{Stall: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("list with a stalled response: got %v, want the end of its context", err)
		}
		blocked, err := client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
		must(t, err)
		defer blocked.Stop()
		synctest.Wait()
		if list, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 100 {
			t.Errorf("list beside a watch that is not read: %v", err)
		}
	})
}

// With NoWatchTimeout, a watch outlives its timeoutSeconds and the limit of the server, but not a
// fault, and Close ends it.
func TestWatchWithoutTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := startServer(t, fake.APIServerOptions{InMemory: true, NoWatchTimeout: true})
		pods := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Pods("")
		server.InjectFault(1, func(r fake.APIRequest) bool { return r.Verb == "watch" }, fake.Fault{CloseIn: time.Minute})
		short := int64(1)
		var watches []watch.Interface
		for _, options := range []metav1.ListOptions{{}, {TimeoutSeconds: &short}, {}} {
			w, err := pods.Watch(t.Context(), options)
			must(t, err)
			watches = append(watches, w)
		}
		time.Sleep(2 * time.Hour)
		must(t, server.Create(pod("a")))
		synctest.Wait()
		if event, open := <-watches[0].ResultChan(); open {
			t.Errorf("watch with CloseIn: got %v after 2 hours, want its end", event)
		}
		for _, w := range watches[1:] {
			expectNext(t, w, "ADDED a@2")
		}
		must(t, server.Close(t.Context()))
		for _, w := range watches[1:] {
			if event, open := <-w.ResultChan(); open {
				t.Errorf("got %v after Close, want the end of the watch", event)
			}
		}
	})
}
