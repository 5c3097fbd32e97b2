// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/examples/internal/program"
	"github.com/kinformer/kinformer/fake"
)

// TestProgram runs the controller until it has counted Pods, and reads its endpoints.
func TestProgram(t *testing.T) {
	p := program.Start(t, "-address", "127.0.0.1:0")
	url := urlOf(p.Expect("Serving http://"))
	p.Expect("Counted Pods", `namespace="shop"`)
	p.Expect("Counted Pods", `namespace="mail"`)
	for path, want := range map[string]string{
		"/healthz":          "ok",
		"/readyz":           "ok",
		"/metrics":          `kinformer_synced{informer="Pod",kind="Pod"} 1`,
		"/debug/informers/": `">Pod</a>`,
	} {
		if got := get(t, url+path); !strings.Contains(got, want) {
			t.Errorf("%s has no %q: %s", path, want, got)
		}
	}
	p.Stop()
}

// urlOf returns the URL in a log line, without the path.
func urlOf(line string) string {
	_, address, _ := strings.Cut(line, "http://")
	address, _, _ = strings.Cut(address, "/")
	return "http://" + address
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v", url, response.Status, err)
	}
	return string(body)
}

// An informer that has not synced makes the program unready, and not dead.
func TestInformersAffectReadinessOnly(t *testing.T) {
	var informers cache.Group
	informers.Add(cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{}))
	handler, err := handler(leaderelection.NewLeaderHealthzAdaptor(leaseDuration).Check, &informers)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable} {
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, path, nil))
		if response.Code != want {
			t.Errorf("%s: %d %s, want %d", path, response.Code, response.Body, want)
		}
	}
}

// TestReplicaTakesOver runs two replicas. The second one is idle until the first has ended. The
// first releases the lease then, so that the second need not wait until it has expired.
func TestReplicaTakesOver(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	create := func(namespace string) {
		for _, obj := range []fake.Object{
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}},
		} {
			if err := server.Create(obj); err != nil {
				t.Fatal(err)
			}
		}
	}
	kubeconfig := program.Kubeconfig(t, server.Config())
	first := program.Start(t, "-address", "127.0.0.1:0", "-kubeconfig", kubeconfig)
	create("shop")
	first.Expect("Counted Pods", `namespace="shop" pods="1"`)
	second := program.Start(t, "-address", "127.0.0.1:0", "-kubeconfig", kubeconfig, "-v=4")
	url := urlOf(second.Expect("Serving http://"))
	second.Expect("Lease is held")
	create("search")
	first.Expect("Counted Pods", `namespace="search" pods="1"`)
	second.Expect("Lease is held") // two seconds later
	second.ExpectNoneSoFar("Counted Pods")
	if text := get(t, url+"/metrics"); strings.Contains(text, "kinformer_synced") {
		t.Errorf("the second replica has informers before it leads: %s", text)
	}

	leader := leaseHolder(t, server)
	first.Stop()
	if leaseHolder(t, server) == leader {
		t.Errorf("%s has ended, and has not released the lease", leader)
	}
	create("mail")
	second.Expect("Counted Pods", `namespace="mail" pods="1"`)
	second.Stop()
}

// leaseHolder returns the identity of the replica that holds the lease; empty if none does.
func leaseHolder(t *testing.T, server *fake.APIServer) string {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod-count"}}
	if err := server.Get(lease); err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
