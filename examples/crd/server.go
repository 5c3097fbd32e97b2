// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
)

// startServer starts an API server with Widgets, one of which changes every second. It returns the
// configuration of its clients and a function that stops it.
func startServer(ctx context.Context) (*rest.Config, func(), error) {
	widgets := fake.CustomResource{
		Group: widgetVersion.Group, Versions: []string{widgetVersion.Version}, Kind: "Widget", StatusSubresource: true,
	}
	server, err := fake.StartAPIServer(fake.APIServerOptions{CustomResources: []fake.CustomResource{widgets}})
	if err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"gear", "lever", "spring"} {
		if err := server.Create(widget(name, "blue", 1)); err != nil {
			return nil, nil, err
		}
	}
	painting, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		paint(painting, server)
	}()
	return server.Config(), func() {
		cancel()
		<-ended
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Close(closing)
	}, nil
}

// paint changes the color of a Widget every second.
func paint(ctx context.Context, server *fake.APIServer) {
	for n := int64(1); ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		_ = server.Update(widget("gear", []string{"blue", "green", "red"}[n%3], n))
	}
}

func widget(name, color string, size int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": widgetVersion.String(), "kind": "Widget",
		"metadata": map[string]any{"namespace": "default", "name": name},
		"spec":     map[string]any{"color": color, "size": size},
	}}
}
