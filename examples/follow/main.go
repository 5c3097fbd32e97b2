// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/follow"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file of a cluster; without it, the program starts an API server of its own")
	resources := flag.String("resources", "widgets.v1.example.com", "resources to follow, as resource.version.group, separated by commas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, *kubeconfig, strings.Split(*resources, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "follow:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string, resources []string) error {
	config, stopServer, err := clientConfig(ctx, kubeconfig)
	if err != nil {
		return err
	}
	defer stopServer()
	cache.EnableStreaming(config)
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	follower := follow.New(client, discoveryClient, follow.Options{})
	functions := []func(context.Context) error{follower.Run}
	for _, name := range resources {
		resource, _ := schema.ParseResourceArg(name)
		if resource == nil {
			return fmt.Errorf("%q is not of the form resource.version.group", name)
		}
		informer, err := newInformer(client, follower, *resource)
		if err != nil {
			return err
		}
		functions = append(functions, informer.Run, func(ctx context.Context) error { return report(ctx, follower, *resource) })
	}
	return cache.RunAll(ctx, functions...)
}

// newInformer returns an informer of the metadata of objects, which prints what it receives. It is
// not running.
func newInformer(client metadata.Interface, follower *follow.Follower, resource schema.GroupVersionResource) (*cache.SharedInformer[*metav1.PartialObjectMetadata], error) {
	informer := cache.NewSharedInformer(cache.ListWatchOf(client.Resource(resource)), &metav1.PartialObjectMetadata{},
		cache.InformerOptions[*metav1.PartialObjectMetadata]{Name: resource.GroupResource().String(), Served: follower.Resource(resource)})
	_, err := informer.AddEventHandler(cache.EventHandlerFunc[*metav1.PartialObjectMetadata](func(event cache.Event[*metav1.PartialObjectMetadata]) {
		switch {
		case event.Type == cache.EventAdd:
			fmt.Println(resource.Resource, event.Key, "appeared")
		case event.Type == cache.EventDelete && event.LeftScope:
			fmt.Println(resource.Resource, event.Key, "is no longer served")
		case event.Type == cache.EventDelete:
			fmt.Println(resource.Resource, event.Key, "is gone")
		}
	}), cache.HandlerOptions{Name: "print"})
	return informer, err
}

// report prints once that a resource is served. A part of a program that has nothing to do before
// that starts in its place.
func report(ctx context.Context, follower *follow.Follower, resource schema.GroupVersionResource) error {
	fmt.Println(resource.Resource, "awaited")
	if follower.WaitForServed(ctx, resource) == nil {
		fmt.Println(resource.Resource, "served for the first time")
	}
	return nil // else the program ends
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
