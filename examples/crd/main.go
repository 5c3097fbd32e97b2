// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/kinformer/cache"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file of a cluster that serves Widgets; without it, the program starts an API server of its own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "crd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	config, stopServer, err := clientConfig(ctx, kubeconfig)
	if err != nil {
		return err
	}
	defer stopServer()
	cache.EnableStreaming(config)
	client, err := widgetClient(config)
	if err != nil {
		return err
	}
	painter, err := newController(client)
	if err != nil {
		return err
	}
	untyped, err := unstructuredInformer(config)
	if err != nil {
		return err
	}
	_, err = untyped.AddEventHandler(cache.EventHandlerFunc[*unstructured.Unstructured](func(event cache.Event[*unstructured.Unstructured]) {
		if event.New != nil {
			color, _, _ := unstructured.NestedString(event.New.Object, "spec", "color")
			painted, _, _ := unstructured.NestedString(event.New.Object, "status", "painted")
			fmt.Printf("unstructured  %-7s %s is %s, painted %q\n", event.Type, event.Key, color, painted)
		}
	}), cache.HandlerOptions{Name: "print"})
	if err != nil {
		return err
	}
	return cache.RunAll(ctx, painter.run, untyped.Run)
}

// clientConfig returns the configuration of clients, and a function that stops the API server if it
// is the program's own.
func clientConfig(ctx context.Context, kubeconfig string) (*rest.Config, func(), error) {
	if kubeconfig == "" {
		return startServer(ctx)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	return config, func() {}, err
}
