// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestPackedKeepsOtherTypesUnpacked checks that a packed informer stores objects of another type
// than its example's as they are, that one warning says so, and that an object may change its type.
func TestPackedKeepsOtherTypesUnpacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "b")
		server.Create(cachetest.Pod("c", cachetest.WithLabel("pod", "yes")))
		informer := clientgo.With(clientgo.Options{Packed: true}).NewSharedIndexInformer(server, &corev1.Pod{}, 0, clientcache.Indexers{"name": byName})
		withTransform(t, func(obj any) (any, error) {
			if pod := obj.(*corev1.Pod); pod.Labels["pod"] == "" {
				return &metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}, nil
			}
			return obj, nil
		})(informer)
		h := &harness{t: t, informer: informer}
		withHandler(t, &h.recordingHandler)(informer)
		logged := runLogged(t, informer)
		h.expectEvents("A a@2 initial", "A b@3 initial", "A c@4 initial")
		h.expectTypes("a@2 *v1.PartialObjectMetadata", "b@3 *v1.PartialObjectMetadata", "c@4 *v1.Pod")
		server.Update(cachetest.Pod("a", cachetest.WithLabel("pod", "yes")))
		server.Update(cachetest.Pod("c"))
		h.expectEvents("U a@5", "U c@6")
		h.expectTypes("a@5 *v1.Pod", "b@3 *v1.PartialObjectMetadata", "c@6 *v1.PartialObjectMetadata")
		server.Delete("ns/b")
		h.expectEvents("D b@7")
		if _, ok := h.last.(*metav1.PartialObjectMetadata); !ok {
			t.Errorf("OnDelete received a %T", h.last)
		}
		server.relist()
		h.expectEvents()
		if logged.count("are not packed") != 1 || logged.count("*v1.PartialObjectMetadata, not *v1.Pod") != 1 || logged.count(`informer="Pod"`) == 0 {
			t.Errorf("want one warning, the log has %s", logged.log.String())
		}
	})
}

// expectTypes checks the objects that the index "name" and the store have.
func (h *harness) expectTypes(want ...string) {
	h.t.Helper()
	for _, described := range want {
		name := described[:1]
		found, err := h.informer.GetIndexer().ByIndex("name", name)
		if err != nil || len(found) != 1 || describeType(found[0]) != described {
			h.t.Errorf("the index has %v, %v, want %s", found, err, described)
		}
		if obj, exists, err := h.informer.GetStore().GetByKey("ns/" + name); !exists || err != nil || describeType(obj) != described {
			h.t.Errorf("GetByKey returns %v, %v, %v, want %s", obj, exists, err, described)
		}
	}
	if got := len(h.informer.GetStore().List()); got != 3 {
		h.t.Errorf("%d objects stored, want 3", got)
	}
}

// describeType returns "name@version type".
func describeType(obj any) string { return fmt.Sprintf("%s %T", nameAtVersion(obj), obj) }
