// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/testing/fields"
)

// TestEveryFieldOfStatusIsSet makes a Status of a reflector and a source that have counted all that
// they count. Those of the store and of handlers are not theirs.
func TestEveryFieldOfStatusIsSet(t *testing.T) {
	var loop reflector.Status
	fields.SetAll(&loop)
	loop.Phase = reflector.Retrying
	var source feed.RequestStatus
	fields.SetAll(&source)
	status := newStatus("pods", loop, source, true, time.Now())
	for _, path := range fields.Leaves(reflect.TypeFor[Status]()) {
		isOthers := path == "Handlers" || strings.HasPrefix(path, "Store.")
		if fields.Of(&status, path).IsZero() != isOthers {
			t.Errorf("%s is %v", path, fields.Of(&status, path))
		}
	}
}

// TestEveryFieldOfStoreStatusIsSet runs an informer with a failing transform and index, of a list
// with a nameless object.
func TestEveryFieldOfStoreStatusIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		widget := func(name string) unstructured.Unstructured {
			return unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name, "uid": name, "resourceVersion": "1"},
			}}
		}
		lw := &ListWatch{
			ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{widget("a"), widget("b"), widget("")}}
				list.SetResourceVersion("1")
				return list, nil
			},
			WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
		}
		widgets := NewSharedInformer(lw, &unstructured.Unstructured{}, InformerOptions[*unstructured.Unstructured]{
			Packed: true, OmitFields: []string{"spec.misspelled"}, NeverWritten: true, ErrorHandler: func(context.Context, error) {},
			Transform: func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				if obj.GetName() == "b" {
					return nil, io.EOF
				}
				return obj, nil
			},
			Indexers: Indexers[*unstructured.Unstructured]{
				"failing": ByObject(func(*unstructured.Unstructured) ([]string, error) { return nil, io.EOF }),
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- widgets.Run(ctx) }()
		<-time.After(time.Minute)
		status := widgets.Status().Store
		for _, path := range fields.Leaves(reflect.TypeFor[StoreStatus]()) {
			if fields.Of(&status, path).IsZero() {
				t.Errorf("%s is not set: %+v", path, status)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
