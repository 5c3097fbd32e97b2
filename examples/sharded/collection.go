// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// startServer starts an API server, unless the options name one. It returns a function that stops
// the server.
func (o *options) startServer() (stop func(), err error) {
	if o.kubeconfig != "" || o.server != "" {
		return func() {}, nil
	}
	server, err := fake.StartAPIServer(fake.APIServerOptions{ShardedListAndWatch: o.sharding})
	if err != nil {
		return nil, err
	}
	o.server = server.URL()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Close(ctx)
	}, nil
}

// collection is the ConfigMaps that the replicas stamp.
type collection struct {
	client    kubernetes.Interface
	namespace string
	size      int
	interval  time.Duration // between changes
}

func newCollection(config *rest.Config, o options) (*collection, error) {
	config.QPS = -1                   // no limit
	config.Timeout = 10 * time.Second // requests do not end with the program's context, so that none is cut off
	client, err := kubernetes.NewForConfig(config)
	interval := time.Duration(float64(time.Second) / o.changes)
	return &collection{client, o.namespace, o.configMaps, interval}, err
}

// whileChanging creates the ConfigMaps, and runs a function while it changes them.
func (c *collection) whileChanging(ctx context.Context, run func(context.Context) error) error {
	if err := c.create(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	return cache.RunAll(ctx, c.change, func(ctx context.Context) error {
		defer cancel()
		return run(ctx)
	})
}

// create creates the Namespace and the ConfigMaps that do not exist, or some of them if ctx ends.
func (c *collection) create(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	_, err := c.client.CoreV1().Namespaces().Create(context.WithoutCancel(ctx), namespace, metav1.CreateOptions{})
	for n := 0; n < c.size && ctx.Err() == nil && (err == nil || apierrors.IsAlreadyExists(err)); n++ {
		configMap := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name(n), Labels: map[string]string{appLabel: appName}},
			Data:       map[string]string{"change": "0"},
		}
		_, err = c.client.CoreV1().ConfigMaps(c.namespace).Create(context.WithoutCancel(ctx), configMap, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Namespace %s with ConfigMaps: %w", c.namespace, err)
	}
	return nil
}

func name(n int) string { return fmt.Sprintf("item-%05d", n) }

// change changes ConfigMaps at random until ctx ends. A patch without a resourceVersion overwrites
// no stamp.
func (c *collection) change(ctx context.Context) error {
	ticker := time.NewTicker(c.interval)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		patch := fmt.Appendf(nil, `{"data":{"change":"%d"}}`, n)
		_, err := c.client.CoreV1().ConfigMaps(c.namespace).Patch(context.WithoutCancel(ctx), name(rand.IntN(c.size)), types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("change a ConfigMap: %w", err)
		}
	}
}
