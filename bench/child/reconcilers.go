// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// startReconciler starts a goroutine that gets the object of each key, as a controller does, and
// counts it as an update. It never ends.
func startReconciler(count *handlerCount, get func(key string)) (keys chan<- string) {
	queue := make(chan string, 1024)
	go func() {
		for key := range queue {
			get(key)
			count.update()
		}
	}()
	return queue
}

func keyOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// withReconciler returns a SharedInformer with event handlers and a reconciler for each.
func withReconciler(options options) newSyncInformer {
	return sharedInformer(options, func(pods *cache.SharedInformer[*corev1.Pod], _ int, count *handlerCount) error {
		keys := startReconciler(count, func(key string) { pods.Store().GetByKey(key) })
		_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Pod]{
			AddFunc:    func(*corev1.Pod) { count.add() },
			UpdateFunc: func(_, pod *corev1.Pod) { keys <- keyOf(pod) },
		}, cache.HandlerOptions{EveryEvent: true})
		return err
	})
}

// clientGoReconciler returns client-go's informer with an event handler and a reconciler.
func clientGoReconciler(config *rest.Config, counts counts) (syncInformer, error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return syncInformer{}, err
	}
	pods := newFactory(clientset).Core().V1().Pods().Informer()
	for _, count := range counts.handlers {
		keys := startReconciler(count, func(key string) { _, _, _ = pods.GetStore().GetByKey(key) })
		if _, err := pods.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { count.add() },
			UpdateFunc: func(_, pod any) { keys <- keyOf(pod.(*corev1.Pod)) },
		}); err != nil {
			return syncInformer{}, err
		}
	}
	return stoppable(func(ctx context.Context) { pods.RunWithContext(ctx) }, pods.HasSynced, pods.LastSyncResourceVersion), nil
}
