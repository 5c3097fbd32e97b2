// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
)

// startServer starts an API server with three Namespaces, in which Pods come and go. It returns the
// configuration of its clients and a function that stops it.
func startServer(ctx context.Context) (*rest.Config, func(), error) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		return nil, nil, err
	}
	creating, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		createPods(creating, server)
	}()
	return server.Config(), func() {
		cancel()
		<-ended
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Close(closing)
	}, nil
}

// createPods creates a Pod every 200 ms, and deletes it two seconds later.
func createPods(ctx context.Context, server *fake.APIServer) {
	namespaces := []string{"shop", "search", "mail"}
	for _, name := range append(namespaces, "default") {
		_ = server.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	var created []*corev1.Pod
	for n := 0; ; n++ {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespaces[n%len(namespaces)], Name: fmt.Sprintf("pod-%d", n)}}
		_ = server.Create(pod)
		if created = append(created, pod); len(created) > 10 {
			_ = server.Delete(created[0])
			created = created[1:]
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}
