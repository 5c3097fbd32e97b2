// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/fake"
)

// watchPods opens a watch through a clientset.
func watchPods(t *testing.T, client kubernetes.Interface, namespace string, opts metav1.ListOptions) watch.Interface {
	t.Helper()
	w, err := client.CoreV1().Pods(namespace).Watch(t.Context(), opts)
	if err != nil {
		t.Fatalf("Watch(%+v): %v", opts, err)
	}
	t.Cleanup(w.Stop)
	return w
}

// expectNext receives len(want) events and requires them to equal want.
func expectNext(t *testing.T, w watch.Interface, want ...string) {
	t.Helper()
	var got []string
	for range want {
		e, ok := <-w.ResultChan()
		if !ok {
			got = append(got, "closed")
			break
		}
		got = append(got, describe(e))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got events %v, want %v", got, want)
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func TestWatchSelectorsOverHTTP(t *testing.T) {
	eachContentType(t, func(t *testing.T, server *fake.APIServer, client *kubernetes.Clientset) {
		must(t, server.Create(pod("a")))
		all := watchPods(t, client, "ns", metav1.ListOptions{})
		labelled := watchPods(t, client, "", metav1.ListOptions{LabelSelector: "app=x", ResourceVersion: "2"})
		onN1 := watchPods(t, client, "", metav1.ListOptions{FieldSelector: "spec.nodeName=n1", ResourceVersion: "2"})
		elsewhere := watchPods(t, client, "other", metav1.ListOptions{AllowWatchBookmarks: true})

		a := pod("a", label("app", "x"))
		must(t, server.Update(a)) // 3
		a.Spec.NodeName = "n1"
		must(t, server.Update(a)) // 4
		a.Labels = nil
		must(t, server.Update(a)) // 5
		must(t, server.Delete(a)) // 6
		expectNext(t, all, "ADDED a@2", "MODIFIED a@3", "MODIFIED a@4", "MODIFIED a@5", "DELETED a@6")
		expectNext(t, labelled, "ADDED a@3", "MODIFIED a@4", "DELETED a@5")
		expectNext(t, onN1, "ADDED a@4", "MODIFIED a@5", "DELETED a@6")
		server.Bookmark()
		expectNext(t, elsewhere, "BOOKMARK @6")

		again := watchPods(t, client, "", metav1.ListOptions{ResourceVersion: "4"})
		e := <-again.ResultChan()
		full := e.Object.(*corev1.Pod)
		if describe(e) != "MODIFIED a@5" || full.Namespace != "ns" || full.Spec.NodeName != "n1" || full.UID != a.UID {
			t.Errorf("got %s of %+v", describe(e), full)
		}
	})
}

func TestWatchListOverHTTP(t *testing.T) {
	eachContentType(t, func(t *testing.T, server *fake.APIServer, client *kubernetes.Clientset) {
		must(t, server.Create(pod("a")))
		must(t, server.Create(pod("b")))
		opts := metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
		w := watchPods(t, client, "", opts)
		expectNext(t, w, "ADDED a@2", "ADDED b@3", "BOOKMARK @3!")
		must(t, server.Delete(pod("a")))
		expectNext(t, w, "DELETED a@4")
		opts.ResourceVersion = "99"
		expectNext(t, watchPods(t, client, "", opts), "ERROR 504 Timeout", "closed")
	})
}

func TestWatchAtACompactedVersionGets410(t *testing.T) {
	eachContentType(t, func(t *testing.T, server *fake.APIServer, client *kubernetes.Clientset) {
		must(t, server.Create(pod("a")))
		open := watchPods(t, client, "", metav1.ListOptions{ResourceVersion: "1"})
		expectNext(t, open, "ADDED a@2")
		server.Compact()
		expectNext(t, watchPods(t, client, "", metav1.ListOptions{ResourceVersion: "1"}), "ERROR 410 Expired", "closed")
		must(t, server.Create(pod("b")))
		expectNext(t, open, "ADDED b@3")
		expectNext(t, watchPods(t, client, "", metav1.ListOptions{ResourceVersion: "2"}), "ADDED b@3")
	})
}

func TestTruncatedWatchCacheKeepsListsOverHTTP(t *testing.T) {
	eachContentType(t, func(t *testing.T, server *fake.APIServer, client *kubernetes.Clientset) {
		must(t, server.Create(pod("a")))
		must(t, server.Create(pod("b")))
		server.TruncateWatchCache()
		expectNext(t, watchPods(t, client, "", metav1.ListOptions{ResourceVersion: "2"}), "ERROR 410 Expired", "closed")
		list, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{ResourceVersion: "2", Limit: 5})
		must(t, err)
		if len(list.Items) != 1 || list.ResourceVersion != "2" {
			t.Errorf("list at version 2 with a limit: got %d items at version %s", len(list.Items), list.ResourceVersion)
		}
	})
}

func TestPeriodicBookmarksAndTimeout(t *testing.T) {
	t.Parallel()
	server := startServer(t, fake.APIServerOptions{BookmarkPeriod: time.Millisecond})
	client := clientFor(t, server, runtime.ContentTypeJSON)
	one := int64(1)
	w := watchPods(t, client, "", metav1.ListOptions{AllowWatchBookmarks: true, TimeoutSeconds: &one})
	expectNext(t, w, "BOOKMARK @1", "BOOKMARK @1")
	for range w.ResultChan() {
	}
}

// The write deadline of a watch must not apply to later requests on its connection. The deadline
// passes before the watch ends, and is 1 s to allow for a slow machine.
func TestConnectionIsReusedAfterAWatch(t *testing.T) {
	t.Parallel()
	server := startServer(t, fake.APIServerOptions{WriteTimeout: time.Second})
	must(t, server.Create(pod("a")))
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL(), "http://"))
	must(t, err)
	defer func() { must(t, conn.Close()) }()
	responses := bufio.NewReader(conn)
	for _, query := range []string{"?watch=true&timeoutSeconds=2", ""} {
		_, err := fmt.Fprintf(conn, "GET /api/v1/pods%s HTTP/1.1\r\nHost: x\r\n\r\n", query)
		must(t, err)
		resp, err := http.ReadResponse(responses, nil)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(body), `"name":"a"`) {
			t.Errorf("GET pods%s: got %q, %v", query, body, err)
		}
	}
}

// A cancelled watch must end its request on the server, or Close would block at the end of the
// test.
func TestCancelledWatchEndsItsRequest(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	client := clientFor(t, server, runtime.ContentTypeProtobuf)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		w, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
		must(t, err)
		cancel()
		for range w.ResultChan() {
		}
	}
}

func TestWatchesReceiveAllEventsInOrder(t *testing.T) {
	const watchers, writers, writes = orderWatchers, 4, orderWrites
	server := startServer(t, fake.APIServerOptions{})
	var done sync.WaitGroup
	clients := []*kubernetes.Clientset{clientFor(t, server, runtime.ContentTypeJSON), clientFor(t, server, runtime.ContentTypeProtobuf)}
	for i := range watchers {
		w := watchPods(t, clients[i%2], "", metav1.ListOptions{ResourceVersion: "1"})
		done.Go(func() {
			for version := 2; version < 2+writers*writes; version++ {
				e, ok := <-w.ResultChan()
				if !ok {
					t.Errorf("watch %d was closed before version %d", i, version)
					return
				}
				if got := e.Object.(*corev1.Pod).ResourceVersion; got != fmt.Sprint(version) {
					t.Errorf("watch %d: got %s, want version %d", i, describe(e), version)
					return
				}
			}
		})
	}
	for i := range writers {
		done.Go(func() {
			p := pod(fmt.Sprint("p", i))
			if err := server.Create(p); err != nil {
				t.Error(err)
			}
			for n := range writes - 1 {
				p.Labels = map[string]string{"n": fmt.Sprint(n)}
				if err := server.Update(p); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
}

// openRaw opens a watch on a TCP connection with a small receive buffer, so that the server's
// writes block soon if the test does not read.
func openRaw(t *testing.T, server *fake.APIServer) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL(), "http://"))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprint(conn, "GET /api/v1/pods?watch=true&resourceVersion=1 HTTP/1.0\r\n\r\n")
	must(t, err)
	return conn, bufio.NewReader(conn)
}

// overflow writes more than the buffers of a connection hold.
func overflow(t *testing.T, server *fake.APIServer) {
	t.Helper()
	p, filler := pod("a"), strings.Repeat("x", 200<<10)
	must(t, server.Create(p))
	for i := range 60 {
		p.Annotations = map[string]string{"filler": filler, "n": fmt.Sprint(i)}
		must(t, server.Update(p))
	}
}

func TestSlowWatcherGets410(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{HistoryLimit: 5})
	conn, body := openRaw(t, server)
	line, err := body.ReadString('\n') // the watch is open
	must(t, err)
	overflow(t, server)
	must(t, conn.(*net.TCPConn).SetReadBuffer(1<<20)) // read the rest faster
	events := 0
	for {
		next, err := body.ReadString('\n')
		if err != nil {
			break
		}
		line, events = next, events+1
	}
	if !strings.Contains(line, `"type":"ERROR"`) || !strings.Contains(line, `"code":410`) || events > 60 {
		t.Errorf("slow watcher got %d events and then %.200q, want a 410", events, line)
	}
}

func TestStuckWatcherIsClosedAfterWriteTimeout(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{WriteTimeout: 50 * time.Millisecond})
	conn, body := openRaw(t, server)
	_, err := body.ReadString('\n')
	must(t, err)
	overflow(t, server)
	must(t, server.Close(t.Context())) // blocks until the write deadline ends the request
	must(t, conn.Close())
}
