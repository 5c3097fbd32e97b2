// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/fake"
)

// verb returns a function that matches requests with the given verb.
func verb(want string) func(fake.APIRequest) bool {
	return func(r fake.APIRequest) bool { return r.Verb == want }
}

func TestRequestFaultsApplyInOrderToMatchingRequests(t *testing.T) {
	server, client := serve(t, runtime.ContentTypeJSON)
	must(t, server.Create(pod("a")))
	server.InjectFault(2, verb("list"), fake.Fault{Err: fake.InternalError()})
	server.InjectFault(1, func(r fake.APIRequest) bool {
		return r.Resource == "pods" && r.Namespace == "ns" && r.Name == "a" && r.Subresource == "status" && r.HTTP.Method == http.MethodPatch
	}, fake.Fault{Err: fake.Forbidden()})
	server.InjectFault(0, nil, fake.Fault{Err: fake.Expired()})
	pods := client.CoreV1().Pods("ns")
	ctx := t.Context()
	list := func() error {
		_, err := pods.List(ctx, metav1.ListOptions{})
		return err
	}
	patch := func(subresources ...string) error {
		_, err := pods.Patch(ctx, "a", "application/merge-patch+json", []byte(`{}`), metav1.PatchOptions{}, subresources...)
		return err
	}
	if _, err := pods.Get(ctx, "a", metav1.GetOptions{}); err != nil {
		t.Errorf("get with a fault for lists: %v", err)
	}
	for i, want := range []bool{true, true, false} {
		if err := list(); apierrors.IsInternalError(err) != want {
			t.Errorf("list %d: got %v, want InternalError: %v", i, err, want)
		}
	}
	if err := patch(); err != nil {
		t.Errorf("patch: %v", err)
	}
	if err := patch("status"); !apierrors.IsForbidden(err) {
		t.Errorf("patch of the status: got %v, want Forbidden", err)
	}
	server.InjectFault(-1, nil, fake.Fault{Err: errors.New("broken")})
	for range 3 {
		if err := list(); err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("list: got %v, want the injected error", err)
		}
	}
	server.ClearFaults()
	if err := list(); err != nil {
		t.Errorf("list after ClearFaults: %v", err)
	}
}

func TestInvalidFaultPanics(t *testing.T) {
	server, lw := startServer(t, fake.APIServerOptions{}), fake.NewListerWatcher(&corev1.Pod{})
	edit := func(list runtime.Object) runtime.Object { return list }
	for name, inject := range map[string]func(){
		"version of a request":    func() { server.InjectFault(1, nil, fake.Fault{ResourceVersion: "x"}) },
		"version of a call":       func() { lw.InjectListFault(1, fake.Fault{ResourceVersion: "x"}) },
		"EditList of a request":   func() { server.InjectFault(1, nil, fake.Fault{EditList: edit}) },
		"EditEvent of a request":  func() { server.InjectFault(1, nil, fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark}) },
		"CutAfterBytes of a call": func() { lw.InjectWatchFault(1, fake.Fault{CutAfterBytes: 1}) },
		"EditWrite of a call":     func() { lw.InjectListFault(1, fake.Fault{EditWrite: edit}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("did not panic")
				}
			}()
			inject()
		})
	}
}

func TestTooManyRequestsHasRetryAfter(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	server.InjectFault(1, nil, fake.Fault{Err: fake.TooManyRequests(7)})
	resp, body, err := send(t, "GET", server.URL()+"/api/v1/pods", "")
	must(t, err)
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "7" || !strings.Contains(body, `"reason":"TooManyRequests"`) {
		t.Errorf("got %d, Retry-After %q, %s", resp.StatusCode, resp.Header.Get("Retry-After"), body)
	}
}

func TestRequestsAreDelayedAndHeld(t *testing.T) {
	server, client := serve(t, runtime.ContentTypeJSON)
	hold := make(chan struct{})
	server.InjectFault(1, verb("get"), fake.Fault{Delay: time.Millisecond, Hold: hold})
	got := make(chan error, 1)
	ctx := t.Context()
	go func() {
		_, err := client.CoreV1().Pods("ns").Get(ctx, "a", metav1.GetOptions{})
		got <- err
	}()
	must(t, server.Create(pod("a"))) // before the get is served
	close(hold)
	if err := <-got; err != nil {
		t.Errorf("held request: %v", err)
	}
	server.InjectFault(1, verb("create"), fake.Fault{Delay: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := client.CoreV1().Pods("ns").Create(ctx, pod("b"), metav1.CreateOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("delayed request with a deadline: got %v, want DeadlineExceeded", err)
	}
	if err := server.Get(pod("b")); !apierrors.IsNotFound(err) {
		t.Errorf("get after a cancelled create: got %v, want NotFound", err)
	}
}

func TestListOfACutBodyIsAnError(t *testing.T) {
	for _, options := range []fake.APIServerOptions{{}, {TLS: true}} {
		server := startServer(t, options)
		client := clientFor(t, server, runtime.ContentTypeProtobuf)
		for i := range 50 {
			p := fullPod(fmt.Sprint("p", i))
			p.Annotations["filler"] = incompressible(5000)
			must(t, server.Create(p))
		}
		for _, n := range []int{-1, 1, 4000, 120_000} {
			server.InjectFault(-1, nil, fake.Fault{CutAfterBytes: n})
			if list, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err == nil {
				t.Errorf("TLS %v: list with a body cut after %d bytes returned %d items, want an error", options.TLS, n, len(list.Items))
			}
			server.ClearFaults()
		}
	}
}

// incompressible returns random text of at least n bytes.
func incompressible(n int) string {
	var text strings.Builder
	for text.Len() < n {
		text.WriteString(rand.Text())
	}
	return text.String()
}

func TestBodyIsCutAtTheGivenByte(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	must(t, server.Create(pod("a")))
	url := server.URL() + "/api/v1/pods"
	_, whole, err := send(t, "GET", url, "")
	must(t, err)
	for _, n := range []int{1, 10, len(whole) - 1} {
		server.InjectFault(1, nil, fake.Fault{CutAfterBytes: n})
		if _, body, err := send(t, "GET", url, ""); err == nil || body != whole[:n] {
			t.Errorf("cut after %d bytes: got %q, %v", n, body, err)
		}
	}
	server.InjectFault(1, nil, fake.Fault{CutAfterBytes: len(whole)})
	if _, body, err := send(t, "GET", url, ""); err != nil || body != whole {
		t.Errorf("cut after the end: got %d of %d bytes, %v", len(body), len(whole), err)
	}
	server.InjectFault(1, verb("watch"), fake.Fault{CutAfterBytes: 30})
	if _, body, err := send(t, "GET", url+"?watch=true", ""); err == nil || len(body) != 30 {
		t.Errorf("watch cut after 30 bytes: got %q, %v", body, err)
	}
}

func TestStalledRequests(t *testing.T) {
	t.Parallel()
	server, client := serve(t, runtime.ContentTypeJSON)
	must(t, server.Create(pod("a")))
	one := int64(1)
	server.InjectFault(1, verb("watch"), fake.Fault{Stall: true, CloseIn: 1100 * time.Millisecond})
	start := time.Now()
	w := watchPods(t, client, "", metav1.ListOptions{TimeoutSeconds: &one, AllowWatchBookmarks: true})
	must(t, server.Create(pod("b")))
	server.Bookmark()
	if e, open := <-w.ResultChan(); open {
		t.Errorf("stalled watch received %s", describe(e))
	}
	if elapsed := time.Since(start); elapsed < 1100*time.Millisecond {
		t.Errorf("stalled watch ended after %v, want CloseIn of 1.1s", elapsed)
	}
	server.InjectFault(1, verb("create"), fake.Fault{Stall: true, CloseIn: time.Millisecond})
	if _, err := client.CoreV1().Pods("ns").Create(t.Context(), pod("c"), metav1.CreateOptions{}); err == nil {
		t.Error("stalled create got a response")
	}
	if err := server.Get(pod("c")); !apierrors.IsNotFound(err) {
		t.Errorf("get after a stalled create: got %v, want NotFound", err)
	}
}

func TestCloseEndsRequestsBlockedByFaults(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	must(t, err)
	client := clientFor(t, server, runtime.ContentTypeJSON)
	matched := make(chan struct{}, 3)
	match := func(fake.APIRequest) bool { matched <- struct{}{}; return true }
	server.InjectFault(1, match, fake.Fault{Stall: true})
	server.InjectFault(1, match, fake.Fault{Hold: make(chan struct{})})
	server.InjectFault(1, match, fake.Fault{Delay: time.Hour})
	errs := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
			errs <- err
		}()
		<-matched
	}
	must(t, server.Close(t.Context()))
	for range 3 {
		if err := <-errs; err == nil {
			t.Error("request blocked by a fault succeeded")
		}
	}
}

func TestFaultsCloseWatches(t *testing.T) {
	server, client := serve(t, runtime.ContentTypeProtobuf)
	for _, name := range []string{"a", "b", "c"} {
		must(t, server.Create(pod(name)))
	}
	server.InjectFault(1, verb("watch"), fake.Fault{CloseAfterEvents: 2})
	expectNext(t, watchPods(t, client, "", metav1.ListOptions{}), "ADDED a@2", "ADDED b@3", "closed")
	server.InjectFault(1, verb("watch"), fake.Fault{CloseAfterEvents: -1})
	expectNext(t, watchPods(t, client, "", metav1.ListOptions{}), "closed")
	server.InjectFault(1, verb("watch"), fake.Fault{CloseIn: 10 * time.Millisecond})
	expectNext(t, watchPods(t, client, "", metav1.ListOptions{}), "ADDED a@2", "ADDED b@3", "ADDED c@4", "closed")
}

func TestReadsFromAStaleReplica(t *testing.T) {
	server, client := serve(t, runtime.ContentTypeJSON)
	a := pod("a")
	must(t, server.Create(a)) // 2
	a.Labels = map[string]string{"n": "1"}
	must(t, server.Update(a))        // 3
	must(t, server.Create(pod("b"))) // 4
	must(t, server.Delete(pod("a"))) // 5
	ctx, pods := t.Context(), client.CoreV1().Pods("ns")
	server.InjectFault(-1, nil, fake.Fault{ResourceVersion: "3"})

	list, err := pods.List(ctx, metav1.ListOptions{})
	must(t, err)
	expectItems(t, itemsOf(t, list), "a@3")
	if list.ResourceVersion != "3" {
		t.Errorf("replica's list is at version %s, want 3", list.ResourceVersion)
	}
	got, err := pods.Get(ctx, "a", metav1.GetOptions{})
	must(t, err)
	if got.Labels["n"] != "1" {
		t.Errorf("get from the replica: got labels %v, want n=1", got.Labels)
	}
	if _, err := pods.Get(ctx, "b", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get of an object newer than the replica: got %v, want NotFound", err)
	}
	resp, _, err := send(t, "GET", server.URL()+"/api/v1/namespaces/ns/pods/a?resourceVersion=5", "")
	must(t, err)
	if resp.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("get at a version newer than the replica: got %d, want 504", resp.StatusCode)
	}
	if _, err := pods.Update(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b", Annotations: map[string]string{"x": "y"}}}, metav1.UpdateOptions{}); err != nil {
		t.Errorf("write with a fault for reads: %v", err)
	}
	current := watchPods(t, client, "", metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	old := watchPods(t, client, "", metav1.ListOptions{ResourceVersion: "2", AllowWatchBookmarks: true})
	expectNext(t, current, "ADDED a@3", "BOOKMARK @3!")
	expectNext(t, old, "MODIFIED a@3")
	must(t, server.Create(pod("c")))
	server.Bookmark()
	expectNext(t, current, "BOOKMARK @3")
	expectNext(t, old, "BOOKMARK @3")

	server.ClearFaults()
	server.Compact()
	server.InjectFault(-1, nil, fake.Fault{ResourceVersion: "3"})
	if _, err := pods.List(ctx, metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("list from a replica at a compacted version: got %v, want Expired", err)
	}
	if _, err := pods.Get(ctx, "b", metav1.GetOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("get from a replica at a compacted version: got %v, want Expired", err)
	}
	expectNext(t, watchPods(t, client, "", metav1.ListOptions{}), "ERROR 410 Expired", "closed")
}

// A watch that is cut in the middle of an event ends with an error, not with io.EOF.
func TestCutWatchEndsUnexpectedly(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	must(t, server.Create(pod("a")))
	server.InjectFault(1, nil, fake.Fault{CutAfterBytes: 1 << 20})
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(mustRequest(t, server.URL()+"/api/v1/pods?watch=true"))
	must(t, err)
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	_, err = lines.ReadString('\n')
	must(t, err)
	big := pod("big")
	big.Annotations = map[string]string{"filler": strings.Repeat("x", 2<<20)}
	must(t, server.Create(big))
	if _, err := lines.ReadString('\n'); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want io.ErrUnexpectedEOF", err)
	}
}

func mustRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	return req
}

// EditWrite takes the place of a mutating webhook: the object is defaulted before and after,
// validated after, and what is changed has no manager.
func TestEditedWrites(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{gear}})
	client := clientOf(t, server).Resource(gearsV1).Namespace("ns")
	var seen []any
	edit := func(size any) {
		server.InjectFault(1, nil, fake.Fault{EditWrite: func(obj runtime.Object) runtime.Object {
			u := obj.(*unstructured.Unstructured)
			seen = append(seen, u.Object["spec"].(map[string]any)["size"], string(u.GetUID()))
			u.Object["spec"] = map[string]any{"size": size, "unknown": "x"}
			if size == nil {
				u.Object["spec"] = map[string]any{}
			}
			u.SetAnnotations(map[string]string{"edited": "yes"})
			return u
		}})
	}
	edit(int64(7))
	created, err := client.Create(t.Context(), newGear("a", map[string]any{}), metav1.CreateOptions{})
	must(t, err)
	expectField(t, created, map[string]any{"size": int64(7)}, "spec")
	edit(int64(8))
	patched, err := client.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	must(t, err)
	expectField(t, patched, map[string]any{"size": int64(8)}, "spec")
	edit(nil)
	defaulted, err := client.Create(t.Context(), newGear("b", map[string]any{"size": int64(9)}), metav1.CreateOptions{})
	must(t, err)
	expectField(t, defaulted, map[string]any{"size": int64(3)}, "spec")
	for _, entry := range patched.GetManagedFields() {
		if fields := string(entry.FieldsV1.Raw); strings.Contains(fields, "edited") {
			t.Errorf("got managedFields %s, want none of what was edited", fields)
		}
	}
	edit("x")
	if _, err := client.Update(t.Context(), patched, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("update with an invalid edit: got %v, want an error of the reason Invalid", err)
	}
	if want := []any{int64(3), "", int64(7), string(created.GetUID()), int64(9), "", int64(8), string(created.GetUID())}; !cmp.Equal(seen, want) {
		t.Errorf("got sizes and UIDs %v, want %v", seen, want)
	}
}

// An edit receives a Pod with its defaults, and what it adds gets them, too.
func TestEditedPodHasDefaults(t *testing.T) {
	server, client := serve(t, runtime.ContentTypeProtobuf)
	server.InjectFault(1, nil, fake.Fault{EditWrite: func(obj runtime.Object) runtime.Object {
		p := obj.(*corev1.Pod)
		if p.Spec.RestartPolicy != corev1.RestartPolicyAlways {
			t.Errorf("got restartPolicy %q, want the default", p.Spec.RestartPolicy)
		}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:1"})
		return p
	}})
	created, err := client.CoreV1().Pods("ns").Create(t.Context(), pod("a"), metav1.CreateOptions{})
	must(t, err)
	if c := created.Spec.Containers; len(c) != 1 || c[0].ImagePullPolicy != corev1.PullIfNotPresent {
		t.Errorf("got containers %v, want one with defaults", c)
	}
}
