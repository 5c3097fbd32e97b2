// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command sharded is a replica of a controller that stamps the ConfigMaps of a collection. The
// replicas of a group divide them by package shard.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/shard"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var options shard.Options
	flag.StringVar(&options.Group, "group", "", "group of the replicas")
	flag.StringVar(&options.Identity, "identity", "", "name of this replica")
	flag.DurationVar(&options.LeaseDuration, "lease-duration", 0, "")
	kubeconfig := flag.String("kubeconfig", "", "")
	namespace := flag.String("namespace", "", "namespace of the Leases")
	selector := flag.String("selector", "", "label selector of the ConfigMaps")
	flag.Parse()
	s, err := newStamper(*kubeconfig, *namespace, *selector, options)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// stamper writes into each ConfigMap which owner has seen its last change.
type stamper struct {
	member     *shard.Member
	clientset  kubernetes.Interface
	configMaps *cache.SharedInformer[*corev1.ConfigMap]
	queue      workqueue.TypedRateLimitingInterface[string]
}

func newStamper(kubeconfig, namespace, selector string, options shard.Options) (*stamper, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	ofLeases, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	cache.EnableStreaming(config)
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	member, err := shard.New(ofLeases.CoordinationV1().Leases(namespace), options)
	if err != nil {
		return nil, err
	}
	only, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	lw := cache.ListWatchOf(clientset.CoreV1().ConfigMaps(""), cache.WithLabelSelector(only))
	s := &stamper{member: member, clientset: clientset}
	s.configMaps = cache.NewSharedInformer(lw, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: member.Scopes()})
	s.queue = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, time.Second))
	_, err = s.configMaps.AddKeyHandler(func(event cache.KeyEvent) { s.queue.Add(event.Key) }, cache.HandlerOptions{})
	return s, err
}

const workers = 8

func (s *stamper) run(ctx context.Context) error {
	informing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.configMaps.Run(informing); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
	for range workers {
		running.Go(func() {
			for s.next(informing) {
			}
		})
	}
	err := s.member.Run(ctx) // until the slots are handed over
	stop()
	s.queue.ShutDown()
	running.Wait()
	return err
}

func (s *stamper) next(ctx context.Context) bool {
	key, shutdown := s.queue.Get()
	if shutdown {
		return false
	}
	defer s.queue.Done(key)
	if err := s.reconcile(ctx, key); err != nil {
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !errors.Is(err, shard.ErrNotOwner) {
			fmt.Fprintln(os.Stderr, key, err)
		}
		s.queue.AddRateLimited(key)
		return true
	}
	s.queue.Forget(key)
	return true
}

// stampKey is the annotation with the change, slot, transition and incarnation of the last stamp.
const stampKey = "e2e.example.com/stamp"

func (s *stamper) reconcile(ctx context.Context, key string) error {
	configMap, exists := s.configMaps.Store().GetByKey(key)
	if !exists {
		return nil
	}
	slot, owned := s.member.Slot(configMap)
	if !owned { // the informer has not dropped it yet, or the member has not gained it yet
		return shard.ErrNotOwner
	}
	var change string
	if _, err := fmt.Sscan(configMap.Annotations[stampKey], &change); err == nil && change == configMap.Data["change"] {
		return nil
	}
	ctx, cancel := slot.Context(ctx)
	defer cancel()
	stamped := configMap.DeepCopy()
	metav1.SetMetaDataAnnotation(&stamped.ObjectMeta, stampKey,
		fmt.Sprintf("%s %d %d %s", configMap.Data["change"], slot.Number, slot.Transition, slot.Incarnation))
	_, err := s.clientset.CoreV1().ConfigMaps(configMap.Namespace).Update(ctx, stamped, metav1.UpdateOptions{})
	return err
}
