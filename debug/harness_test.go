// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// pod returns a Pod in namespace ns.
func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.PodSpec{NodeName: "node-7"}}
}

// run runs an informer until the test ends, in a bubble, and waits until it watches.
func run[T cache.Object](t *testing.T, informer *cache.SharedInformer[T]) {
	t.Helper()
	start(t, informer.Run)
	if err := informer.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// start calls a Run method, and returns a function that stops it, at the latest when the test ends.
func start(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// pods returns an informer of Pods that is not running, and its server.
func pods(name string) (*cache.SharedInformer[*corev1.Pod], *fake.ListerWatcher[*corev1.Pod]) {
	server := fake.NewListerWatcher(&corev1.Pod{})
	return cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: name}), server
}

// serve returns the answer to a request, such as "GET /informer?id=1", with headers as
// "name: value".
func serve(t *testing.T, handler http.Handler, line string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method, target, _ := strings.Cut(line, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

// get returns a page, and fails unless its status is OK.
func get(t *testing.T, handler http.Handler, target string, headers ...string) string {
	t.Helper()
	answer := serve(t, handler, "GET "+target, headers...)
	if answer.Code != http.StatusOK {
		t.Fatalf("%s: got status %d and %s", target, answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// fails returns the text of an error, and fails unless it has the status.
func fails(t *testing.T, handler http.Handler, target string, code int) string {
	t.Helper()
	answer := serve(t, handler, "GET "+target)
	if answer.Code != code {
		t.Fatalf("%s: got status %d, want %d", target, answer.Code, code)
	}
	return answer.Body.String()
}

// getJSON decodes a page's JSON.
func getJSON[T any](t *testing.T, handler http.Handler, target string, headers ...string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(get(t, handler, target, headers...)), &value); err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return value
}

// expect fails unless the text contains each of the parts.
func expect(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// expectNot fails if the text contains one of the parts.
func expectNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in\n%s", part, text)
		}
	}
}

var withObjects = Options{ShowObjects: true}
