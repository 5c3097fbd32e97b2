// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

var hidden = cachetest.WithLabel("hidden", "yes")

// notHidden is a filter. It fails the test if a transform has seen the object before.
func notHidden(t *testing.T) func(obj any) bool {
	t.Helper()
	return func(obj any) bool {
		pod := obj.(*corev1.Pod)
		if pod.Annotations["transformed"] != "" {
			t.Error("the filter was called after the transform")
		}
		return pod.Labels["hidden"] == ""
	}
}

// TestFilterSelectsStoredObjects checks that an object which the filter refuses is not stored, and
// that one which it refuses later is deleted, by an event and by a list, with and without a
// transform that renames objects.
func TestFilterSelectsStoredObjects(t *testing.T) {
	for _, packed := range []bool{false, true} {
		for _, prefix := range []string{"", "renamed-"} {
			cachetest.RunInBubble(t, fmt.Sprintf("packed=%v %s", packed, prefix), func(t *testing.T) {
				server := newServer("a", "b")
				server.Create(cachetest.Pod("c", hidden))
				var prepare []func(clientcache.SharedIndexInformer)
				if prefix != "" {
					prepare = append(prepare, renameTo(t, prefix))
				}
				h := run(t, server, clientgo.Options{Packed: packed, Filter: notHidden(t)}, prepare...)
				h.expectEvents("A "+prefix+"a@2 initial", "A "+prefix+"b@3 initial")
				server.Update(cachetest.Pod("a", hidden))
				server.Update(cachetest.Pod("c", hidden))
				server.Create(cachetest.Pod("d", hidden))
				server.Delete("ns/d")
				h.expectEvents("D " + prefix + "a@5")
				server.Update(cachetest.Pod("a"))
				server.Update(cachetest.Pod("c"))
				h.expectEvents("A "+prefix+"a@9", "A "+prefix+"c@10")
				server.relistAfter(func() { server.Update(cachetest.Pod("b", hidden)) })
				h.expectEvents("T ns/" + prefix + "b " + prefix + "b@3")
				if keys := h.informer.GetStore().ListKeys(); len(keys) != 2 {
					t.Errorf("the store has the keys %q", keys)
				}
				requests := server.verbs()
				cachetest.Advance(time.Minute)
				if got := server.verbs(); got != requests {
					t.Errorf("requests %s, want %s", got, requests)
				}
			})
		}
	}
}

// renameTo makes a transform that puts prefix before the name.
func renameTo(t *testing.T, prefix string) func(clientcache.SharedIndexInformer) {
	t.Helper()
	return withTransform(t, func(obj any) (any, error) {
		pod := obj.(*corev1.Pod)
		pod.Name = prefix + pod.Name
		pod.Annotations = map[string]string{"transformed": "yes"}
		return pod, nil
	})
}

// TestPanicOfFilterKeepsTheLastState checks that a panic of the filter is an error on one object.
func TestPanicOfFilterKeepsTheLastState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "b")
		h := run(t, server, clientgo.Options{Filter: func(obj any) bool {
			if obj.(*corev1.Pod).Labels["broken"] != "" {
				panic(errRefused)
			}
			return true
		}})
		h.expectEvents("A a@2 initial", "A b@3 initial")
		server.Update(cachetest.Pod("a", broken))
		server.Update(cachetest.Pod("b"))
		h.expectEvents("U b@5")
		if obj, _, err := h.informer.GetStore().GetByKey("ns/a"); err != nil || nameAtVersion(obj) != "a@2" {
			t.Errorf("GetByKey returns %v, %v, want a@2", obj, err)
		}
	})
}

// TestFilteringHandlerReceivesDeletionOfRefusedObject checks that a FilteringResourceEventHandler
// which has received an object receives its deletion, too, if neither Options.Filter nor its own
// FilterFunc accepts the state with which the object leaves.
func TestFilteringHandlerReceivesDeletionOfRefusedObject(t *testing.T) {
	for name, add := range map[string]func(clientcache.SharedIndexInformer, clientcache.FilteringResourceEventHandler){
		"value": func(informer clientcache.SharedIndexInformer, handler clientcache.FilteringResourceEventHandler) {
			_, _ = informer.AddEventHandler(handler)
		},
		"pointer": func(informer clientcache.SharedIndexInformer, handler clientcache.FilteringResourceEventHandler) {
			_, _ = informer.AddEventHandler(&handler)
		},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server := newServer("a", "b")
			filtered := &recordingHandler{}
			accept := func(obj any) bool {
				if tombstone, ok := obj.(clientcache.DeletedFinalStateUnknown); ok {
					obj = tombstone.Obj
				}
				return notHidden(t)(obj)
			}
			run(t, server, clientgo.Options{Filter: notHidden(t)}, func(informer clientcache.SharedIndexInformer) {
				add(informer, clientcache.FilteringResourceEventHandler{FilterFunc: accept, Handler: filtered})
			})
			filtered.take()
			server.Update(cachetest.Pod("a", hidden))
			server.relistAfter(func() { server.Update(cachetest.Pod("b", hidden)) })
			synctest.Wait()
			if got := fmt.Sprint(filtered.take()); got != "[D a@4 T ns/b b@3]" {
				t.Errorf("events %s, want both deletions", got)
			}
		})
	}
}
