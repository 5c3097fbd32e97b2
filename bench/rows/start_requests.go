// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/listserver"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/footprint"
)

const (
	consistently = "kinformer"
	startsAny    = "kinformer, StartAny"
)

// startRequests is row start-requests: what the informers of a Factory request until all of them
// watch, one for each namespace, counted by the server. StartAny lists what the server has, without
// a probe.
func startRequests(scale Scale) []harness.Experiment {
	bytes := harness.Metric{Name: "bytes", Unit: "kB/informer", Goal: harness.AtMost(1.02)}
	requests := harness.Metric{Name: "requests", Unit: "", Goal: harness.Within(2.02*float64(scale.Namespaces), "")}
	return []harness.Experiment{
		startTraffic(scale.Namespaces, false, requests),
		startTraffic(scale.Namespaces, true, bytes),
		startTraffic(1, true, bytes),
	}
}

func startTraffic(informers int, ignoresLimit bool, metric harness.Metric) harness.Experiment {
	setup := fmt.Sprintf("%d informers of %d Pods", informers, podsPerNamespace)
	figure := func(t *listserver.Traffic) float64 { return float64(t.Requests.Load()) }
	if ignoresLimit {
		setup += ", limit is ignored"
		figure = func(t *listserver.Traffic) float64 { return float64(t.Bytes.Load()) / 1e3 / float64(informers) }
	}
	sides := []string{consistently, startsAny}
	return harness.Experiment{
		Row: "start-requests", Setup: setup, Sides: sides, Metrics: []harness.Metric{metric}, MaxRounds: 3,
		Prepare: func() ([]harness.Measure, error) {
			return measureEach(sides, func(side string) ([]float64, error) {
				traffic, err := trafficOfStart(informers, ignoresLimit, side == startsAny)
				return []float64{figure(traffic)}, err
			}), nil
		},
	}
}

// trafficOfStart runs informers until all of them watch.
func trafficOfStart(informers int, ignoresLimit, startAny bool) (traffic *listserver.Traffic, err error) {
	traffic = &listserver.Traffic{}
	var namespaces []string
	for n := range informers {
		namespaces = append(namespaces, child.Namespace(n))
	}
	server, err := listserver.StartWithoutPages(namespaces, podsPerNamespace, ignoresLimit, traffic)
	if err != nil {
		return traffic, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	config := footprint.Config(server.URL(), "")
	cache.EnableStreaming(config)
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return traffic, err
	}
	factory := cache.NewFactory(cache.FactoryOptions{})
	for _, namespace := range namespaces {
		lw := cache.ListWatchOf(clientset.CoreV1().Pods(namespace))
		if _, err := cache.InformerFor(factory, lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{StartAny: startAny}); err != nil {
			return traffic, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	stopped := make(chan error, 1)
	go func() { stopped <- factory.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-stopped)
	}()
	return traffic, footprint.Poll(ctx, func() bool { return int(traffic.Watches.Load()) >= informers })
}
