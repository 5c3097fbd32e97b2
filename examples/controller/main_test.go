// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/examples/internal/program"
	"github.com/kinformer/kinformer/fake"
)

// TestProgram runs the controller until it has counted Pods, and reads its endpoints.
func TestProgram(t *testing.T) {
	p := program.Start(t, "-address", "127.0.0.1:0")
	line := p.Expect("Serving http://")
	_, address, _ := strings.Cut(line, "http://")
	address, _, _ = strings.Cut(address, "/")
	p.Expect("Counted Pods", `namespace="shop"`)
	p.Expect("Counted Pods", `namespace="mail"`)
	for path, want := range map[string]string{
		"/healthz":          "ok",
		"/metrics":          `kinformer_synced{informer="*v1.Pod",kind="Pod"} 1`,
		"/debug/informers/": "count Pods",
	} {
		if got := get(t, "http://"+address+path); !strings.Contains(got, want) {
			t.Errorf("%s has no %q: %s", path, want, got)
		}
	}
	p.Stop()
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

// TestReplicaTakesOver runs two replicas. The second one works once the first has released the lease.
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
	second := program.Start(t, "-address", "127.0.0.1:0", "-kubeconfig", kubeconfig)
	second.Expect("Serving http://")
	first.Stop()
	create("mail")
	second.Expect("Counted Pods", `namespace="mail" pods="1"`)
	second.Stop()
}
