// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"os"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/mutation"
)

const (
	// mutationVariable is the environment variable of client-go's detector.
	mutationVariable = "KUBE_CACHE_MUTATION_DETECTOR"
	// mutationPeriod is the time between two checks.
	mutationPeriod = time.Second
)

// mutationDetector returns the detector that the options or the environment ask for, or nil.
func (o InformerOptions[T]) mutationDetector() *mutation.Detector {
	everywhere, _ := strconv.ParseBool(os.Getenv(mutationVariable)) //nolint:forbidigo // client-go's variable, so that one switch serves a whole program
	if o.DetectMutations || everywhere && !o.Packed {
		return mutation.New()
	}
	return nil
}

// tracked returns a function that adds each object it decodes to the detector, before any reader
// can get the object.
func tracked[T Object](decode func(feed.Item) (T, error), detector *mutation.Detector) func(feed.Item) (T, error) {
	return func(item feed.Item) (T, error) {
		obj, err := decode(item)
		if err == nil {
			detector.Add(item.Key, obj)
		}
		return obj, err
	}
}

// detectMutations checks the store's objects in the background. stop makes a last check and
// returns after it.
func (s *SharedInformer[T]) detectMutations(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ticking, ok := s.options.Clock.(clock.WithTicker)
	if !ok {
		ticking = clock.RealClock{}
	}
	stored := func(key string, object runtime.Object) bool {
		current, exists := s.engine.Store().Get(key)
		return exists && runtime.Object(current) == object
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.mutations.Run(ctx, ticking, mutationPeriod, stored, func(err error) { s.core.report.handle(ctx, err) })
	}()
	return func() {
		cancel()
		<-done
	}
}
