// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

func TestCancelAtAnyTimeAndRepeatedly(t *testing.T) {
	var kept *Handler
	runInformer(t, []string{"a=1"}, nil, func(h *harness) {
		early := h.add(HandlerConfig{OnEvent: func(Event) {}})
		early.Cancel() // before Run
		early.Cancel()
		<-early.Done()
		kept = h.add(HandlerConfig{OnEvent: func(Event) {}})
	}, func(h *harness) {
		if err := h.stop(); err != nil {
			h.t.Error(err)
		}
		<-kept.Done()
		kept.Cancel() // after Run
		kept.Cancel()
	})
}

func TestHandlerCancelsItself(t *testing.T) {
	var log []string
	var handler *Handler
	runInformer(t, []string{"a=1", "b=1"}, nil, func(h *harness) {
		handler = h.add(HandlerConfig{OnEvent: func(e Event) {
			record(&log)(e)
			handler.Cancel()
		}})
	}, func(h *harness) {
		<-handler.Done()
		h.expect("the handler", log, "A a →a=1 (initial)")
	})
}

// Called from the handler itself, Stop waits for its own caller until ctx ends.
func TestStopFromHandlerBlocksUntilContextEnds(t *testing.T) {
	var handler *Handler
	var err error
	var waited time.Duration
	runInformer(t, []string{"a=1", "b=1"}, nil, func(h *harness) {
		handler = h.add(HandlerConfig{OnEvent: func(Event) {
			ctx, cancel := context.WithTimeout(h.t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			err = handler.Stop(ctx)
			waited = time.Since(began)
		}})
	}, func(h *harness) {
		<-handler.Done()
		if !errors.Is(err, ErrHandlerBlocked) || !errors.Is(err, context.DeadlineExceeded) || waited != time.Second {
			h.t.Errorf("Stop() = %v after %v", err, waited)
		}
	})
}

// An error handler may cancel the informer handler whose event caused the error. The compactor
// reports no error, because it holds that handler's lock.
func TestErrorHandlerMayCancelHandler(t *testing.T) {
	var blocked *Handler
	reports := 0
	configure := func(config *Config) {
		packed(config)
		coalescing(batchSize)(config)
		config.CoalesceThreshold = 2
		config.Store.Report = func(string, error) {
			reports++
			blocked.Cancel()
		}
	}
	runInformer(t, []string{"a=1"}, configure, func(h *harness) {
		blocked = h.add(HandlerConfig{Name: "blocked", OnEvent: func(Event) { <-h.resume }})
	}, func(h *harness) {
		h.send(watch.Added, "b=1", "11")
		h.send(watch.Modified, "b=2", "12")
		h.send(watch.Modified, "b=3", "13")
		h.send(watch.Modified, "b=corrupt", "14")
		if reports != 0 {
			h.t.Error("the compactor reported an object that cannot be decoded")
		}
		close(h.resume)
		synctest.Wait()
		<-blocked.Done()
		if reports == 0 {
			h.t.Error("the object that cannot be decoded was not reported")
		}
	})
}
