// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package testing

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// TestLabelerOverHTTP runs a Labeler with a real clientset. The test reads its result by a watch.
func TestLabelerOverHTTP(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	config := server.Config()
	cache.EnableStreaming(config)
	client := kubernetes.NewForConfigOrDie(config)
	labeler, err := NewLabeler(client)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stopped := make(chan error)
	go func() { stopped <- labeler.Run(ctx) }()

	labeled, err := client.CoreV1().Pods("ns").Watch(ctx, metav1.ListOptions{LabelSelector: NodeLabel})
	if err != nil {
		t.Fatal(err)
	}
	defer labeled.Stop()
	if err := server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods("ns").Create(ctx, pod("a", "node-1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	event := <-labeled.ResultChan()
	if got, ok := event.Object.(*corev1.Pod); event.Type != watch.Added || !ok || got.Labels[NodeLabel] != "node-1" {
		t.Errorf("%s %v, want Pod a with the label of node-1", event.Type, event.Object)
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
