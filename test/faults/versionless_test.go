// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// versionless is a source without UIDs and versions, as client-go's fake clientsets are. All lists
// have the version rv, and a watch begins with the events after it is opened.
type versionless struct {
	*cachetest.Harness
	rv string
}

func (v versionless) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion = ""
	list, err := v.Harness.List(ctx, options)
	if err != nil {
		return nil, err
	}
	pods := list.(*corev1.PodList)
	pods.ResourceVersion = v.rv
	for i := range pods.Items {
		pods.Items[i].ResourceVersion, pods.Items[i].UID = "", ""
	}
	return pods, nil
}

func (v versionless) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.ResourceVersion = v.ResourceVersion()
	w, err := v.Harness.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		if p, ok := e.Object.(*corev1.Pod); ok {
			p.ResourceVersion, p.UID = "", ""
		}
		return e, true
	}), nil
}

// Without a version to resume from, a list follows the watch and finds what was deleted meanwhile.
func TestWatchWithoutVersionIsNotResumed(t *testing.T) {
	for _, rv := range []string{"", "0"} {
		t.Run(fmt.Sprintf("version %q", rv), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := cachetest.New(t)
				h.Source = versionless{h, rv}
				h.Run(cache.ReflectorOptions{})
				h.Delete("ns/b")
				cachetest.Advance(time.Millisecond)
				h.CloseWatches()
				h.Delete("ns/c")
				cachetest.Advance(10 * time.Second)
				h.ExpectStored("a@")
				h.CheckHandlerState()
				h.CheckStop()
			})
		})
	}
}

// A watch without a version begins with the existing objects in any order. Their versions, and
// those of later events, are not versions to resume from; that of a bookmark is.
func TestWatchWithoutVersionAdvancesByBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := cachetest.New(t)
		h.Source = &cache.ListWatch{
			ListFunc:  versionless{h, ""}.List,
			WatchFunc: h.Watch, // without a version: begins with the existing objects
		}
		h.Run(cache.ReflectorOptions{})
		h.ExpectStored("a@2 b@3 c@4")
		if rv := h.Controller.LastSyncResourceVersion(); rv != "" {
			t.Errorf("at version %s, by events in any order", rv)
		}
		h.Bookmark()
		h.Update(cachetest.Pod("a"))
		synctest.Wait()
		if rv := h.Controller.LastSyncResourceVersion(); rv != "4" {
			t.Errorf("at version %q, want 4", rv)
		}
		h.CheckHandlerState()
		h.CheckStop()
	})
}
