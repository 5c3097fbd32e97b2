// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

// Reads of a resource that has no informer, or that was not listed, are errors that are not
// NotFound, and say why.
func TestReader(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, h *harness) {
		options := h.options(ofExample)
		options.Informer.Indexers = cache.Indexers[metaObject]{cache.NamespaceIndex: cache.ByMetadata[metaObject](cache.MetaNamespaceIndexFunc)}
		all, err := follow.All(h.follower, options)
		noError(t, err)
		resource := widgets.GroupResource()
		absent := func(when string) {
			t.Helper()
			if _, err := all.Reader(resource); !errors.Is(err, cache.ErrNotServed) || apierrors.IsNotFound(err) {
				t.Errorf("error %v %s, want ErrNotServed", err, when)
			}
		}
		absent("before Run")
		h.start(h.follower.Run, all.Run)
		after(5 * time.Second)
		absent("without a definition")
		h.server.InjectFault(-1, of("widgets"), fake.Fault{Err: fake.Forbidden()})
		crd := h.define("Widget", "v1")
		h.create("v1", "Widget", "a")
		after(5 * time.Second)
		absent("while it is forbidden")
		if _, err := all.Reader(resource); !apierrors.IsForbidden(err) {
			t.Errorf("error %v while it is forbidden, want Forbidden", err)
		}
		h.server.ClearFaults()
		after(6 * time.Minute)
		for range 2 {
			reader, err := all.Reader(resource)
			noError(t, err)
			objs, err := reader.ByIndex(cache.NamespaceIndex, "ns")
			noError(t, err)
			obj, err := cache.NewLister(reader, resource).Namespace("ns").Get("a")
			if err != nil || len(objs) != 1 || obj.Name != "a" {
				t.Errorf("read %v and %d objects of the namespace, error %v", obj, len(objs), err)
			}
			if _, err := cache.NewLister(reader, resource).Namespace("ns").Get("b"); !apierrors.IsNotFound(err) {
				t.Errorf("error %v for an object that does not exist", err)
			}
			if _, err := all.Reader(schema.GroupResource{Resource: "pods"}); !errors.Is(err, cache.ErrNotServed) {
				t.Errorf("error %v of a resource that is not selected", err)
			}
			noError(t, h.server.Delete(crd))
			after(10 * time.Second)
			absent("after the deletion")
			if n := reader.Len(); n != 0 {
				t.Errorf("%d objects in the earlier reader after the deletion", n)
			}
			crd = h.define("Widget", "v1")
			h.create("v1", "Widget", "a")
			after(10 * time.Second)
		}
		h.stop()
		absent("after Run")
	})
}
