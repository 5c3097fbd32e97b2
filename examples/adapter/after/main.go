// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command after prints the Pods of each node, by kinformer's informers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	kinformer "github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo/informers"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file of the cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	kinformer.EnableStreaming(config)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	var mu sync.Mutex // of standard output
	report := func(obj any) {
		pod, ok := obj.(*corev1.Pod)
		if !ok || pod.Spec.NodeName == "" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("%s has %s\n", pod.Spec.NodeName, pod.Name)
	}
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: report}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced) {
		return ctx.Err()
	}
	all, err := pods.Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	mu.Lock()
	fmt.Printf("synced, %d Pods\n", len(all))
	mu.Unlock()
	<-ctx.Done()
	return nil
}
