// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/footprint"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// listBySelector is row list-by-selector: a List of packed Pods by a label selector that matches
// none of them, against one of live Pods.
func listBySelector(scale Scale) []harness.Experiment {
	return []harness.Experiment{selectNone(scale, perWorkload, 1), selectNone(scale, 1, 3)}
}

func selectNone(scale Scale, perWorkload dataset.PodsPerWorkload, goal float64) harness.Experiment {
	return harness.Experiment{
		Row: "list-by-selector", Setup: fmt.Sprintf("%d Pods, %v, no match", scale.Pods, perWorkload), Sides: []string{child.Packed, child.Kinformer},
		Metrics: []harness.Metric{{Name: "CPU of a List", Unit: "ns/Pod", Goal: harness.AtMost(goal)}},
		Prepare: func() (measures []harness.Measure, err error) {
			pods, err := podserver.Pods(perWorkload, scale.Pods)
			if err != nil {
				return nil, err
			}
			for _, packed := range []bool{true, false} {
				store, err := syncedStore(pods, cache.InformerOptions[*corev1.Pod]{Packed: packed})
				if err != nil {
					return nil, err
				}
				measures = append(measures, func() ([]float64, error) { return selectNoneOf(store, scale) })
			}
			return measures, nil
		},
	}
}

// selectNoneOf lists the Pods of a store several times.
func selectNoneOf(store cache.Reader[*corev1.Pod], scale Scale) ([]float64, error) {
	const lists = 10
	lister, selector := cache.NewLister(store, corev1.Resource("pods")), labels.SelectorFromSet(labels.Set{"app": "none"})
	start := process.CPU()
	for range lists {
		if found := lister.List(selector); len(found) > 0 {
			return nil, fmt.Errorf("%d Pods match %v", len(found), selector)
		}
	}
	return []float64{cpuPer(start, lists*scale.Pods)}, nil
}

// syncedStore returns the store of an informer that has stopped after its first list.
func syncedStore(pods *dataset.Encoded, options cache.InformerOptions[*corev1.Pod]) (store cache.Reader[*corev1.Pod], err error) {
	server, err := podserver.Start(pods)
	if err != nil {
		return store, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	config := footprint.Config(server.URL(), "")
	cache.EnableStreaming(config)
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return store, err
	}
	informer := cache.NewSharedInformer(cache.ListWatchOf(clientset.CoreV1().Pods("")), &corev1.Pod{}, options)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- informer.Run(ctx) }()
	err = informer.WaitForSync(ctx)
	cancel()
	return informer.Store(), errors.Join(err, <-done)
}
