// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
)

// period is the time for which Widgets are served, and for which they are not.
const period = 3 * time.Second

// startServer starts an API server whose Widgets come and go. It returns the configuration of its
// clients and a function that stops it.
func startServer(ctx context.Context) (*rest.Config, func(), error) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		return nil, nil, err
	}
	changing, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := change(changing, server); err != nil {
			fmt.Println("the server failed:", err)
		}
	}()
	return server.Config(), func() {
		cancel()
		<-ended
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Close(closing)
	}, nil
}

// change installs, deletes and reinstalls the definition of Widgets, with a Widget of a new name
// each time, until ctx ends.
func change(ctx context.Context, server *fake.APIServer) error {
	widgets := fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}
	for n := 1; ; n++ {
		if !sleep(ctx) {
			return nil
		}
		fmt.Println("---- Widgets are installed")
		if err := server.Create(widgets.Definition()); err != nil {
			return err
		}
		if err := server.Create(widget(fmt.Sprint("widget-", n))); err != nil {
			return err
		}
		if !sleep(ctx) {
			return nil
		}
		fmt.Println("---- Widgets are deleted")
		if err := server.Delete(widgets.Definition()); err != nil {
			return err
		}
	}
}

// sleep waits for a period. It reports false if ctx ends before.
func sleep(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(period):
		return true
	}
}

func widget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "default", "name": name},
	}}
}
