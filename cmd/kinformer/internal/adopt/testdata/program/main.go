// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package main is a program that makes informers in every way of client-go.
package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache" // informers
)

func main() {
	fmt.Println(factories(nil, nil), shadowed())
}

func factories(client kubernetes.Interface, namespaces []string) (all []informers.SharedInformerFactory) {
	for _, namespace := range namespaces {
		all = append(all, informers.NewSharedInformerFactoryWithOptions(client, 10*time.Hour, informers.WithNamespace(namespace)))
	}
	return append(all, informers.NewSharedInformerFactory(client,0)) // not formatted as by gofmt
}

func single(lw cache.ListerWatcher) (cache.Store, cache.Controller) {
	return cache.NewInformer(lw, &corev1.Pod{}, 0, cache.ResourceEventHandlerFuncs{})
}

func shadowed() string {
	cache := struct{ NewStore func() string }{func() string { return "not client-go's" }}
	return cache.NewStore()
}
