// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package listserver

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/internal/testing/footprint"
)

// TestCollectionsByPath lists as client-go does, whose decoder does not report the kind of a list.
func TestCollectionsByPath(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(footprint.Config(start(t), ""))
	pods, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 20 || pods.Items[0].Spec.NodeName == "" {
		t.Errorf("%d Pods, error %v, want 20", len(pods.Items), err)
	}
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 3 || nodes.Items[0].Spec.ProviderID == "" {
		t.Errorf("%d Nodes, error %v, want 3", len(nodes.Items), err)
	}
}

func TestOtherEncodingsAreRefused(t *testing.T) {
	url := start(t)
	for accept, want := range map[string]int{
		runtime.ContentTypeProtobuf: http.StatusOK,
		runtime.ContentTypeCBOR:     http.StatusNotAcceptable,
	} {
		if got := statusOf(t, url+"/api/v1/pods", accept); got != want {
			t.Errorf("status %d of a request that accepts %s, want %d", got, accept, want)
		}
	}
}

// start returns the URL of a server of 20 Pods and 3 Nodes.
func start(t *testing.T) string {
	t.Helper()
	pods, err := dataset.PackPods(20, 20)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := dataset.PackNodes(3)
	if err != nil {
		t.Fatal(err)
	}
	server, err := StartBeside(pods, pods.Len(), map[string]*dataset.Packed{"/api/v1/nodes": nodes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server.URL()
}

// statusOf returns the status of the response to a request.
func statusOf(t *testing.T, url, accept string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
