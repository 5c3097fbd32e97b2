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
	typed, err := typedInformer(config)
	if err != nil {
		return err
	}
	untyped, err := unstructuredInformer(config)
	if err != nil {
		return err
	}
	_, err = typed.AddEventHandler(cache.EventHandlerFunc[*Widget](func(event cache.Event[*Widget]) {
		if event.New != nil {
			fmt.Printf("typed         %-7s %s is %s, size %d\n", event.Type, event.Key, event.New.Spec.Color, event.New.Spec.Size)
		}
	}), cache.HandlerOptions{Name: "print"})
	if err != nil {
		return err
	}
	_, err = untyped.AddEventHandler(cache.EventHandlerFunc[*unstructured.Unstructured](func(event cache.Event[*unstructured.Unstructured]) {
		if event.New != nil {
			color, _, _ := unstructured.NestedString(event.New.Object, "spec", "color")
			fmt.Printf("unstructured  %-7s %s is %s\n", event.Type, event.Key, color)
		}
	}), cache.HandlerOptions{Name: "print"})
	if err != nil {
		return err
	}
	return cache.RunAll(ctx, typed.Run, untyped.Run)
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
