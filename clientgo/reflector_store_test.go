// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
)

// sinkHarness is the sink of a store, and its log.
type sinkHarness struct {
	*storeSink

	log strings.Builder
}

func newSinkHarness(store clientcache.ReflectorStore) *sinkHarness {
	h := &sinkHarness{}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&h.log)))
	errs := newObjectLog(false)
	errs.begin(klog.NewContext(context.Background(), logger))
	h.storeSink = newStoreSink(store, codec.ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}, errs)
	return h
}

func (h *sinkHarness) expectLog(t *testing.T, want string) {
	t.Helper()
	if !strings.Contains(h.log.String(), want) {
		t.Errorf("the log does not contain %s:\n%s", want, &h.log)
	}
	h.log.Reset()
}

// itemOf returns the item of a Pod.
func itemOf(name, version string) feed.Item {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: version}}
	return feed.Item{Key: "ns/" + name, UID: string(pod.UID), ResourceVersion: version, Object: pod}
}

// undecodableItem returns the item of a Pod whose bytes cannot be decoded.
func undecodableItem(name, version string) feed.Item {
	item := itemOf(name, version)
	item.Object, item.Codec = nil, feed.ErrorCodec{Err: errors.New("malformed")}
	return item
}

// contentsOf lists the Pods of a store as name@version.
func contentsOf(objs []any) string {
	names := make([]string, 0, len(objs))
	for _, obj := range objs {
		pod := obj.(*corev1.Pod)
		names = append(names, pod.Name+"@"+pod.ResourceVersion)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestUndecodableObjectKeepsItsLastState checks that an object that cannot be decoded keeps the
// state in a store that can be read, is left out of another one, and is deleted by its identity.
func TestUndecodableObjectKeepsItsLastState(t *testing.T) {
	store := clientcache.NewStore(clientcache.MetaNamespaceKeyFunc)
	h := newSinkHarness(store)
	expect := func(want string, quarantined int) {
		t.Helper()
		if got := contentsOf(store.List()); got != want || h.Quarantined() != quarantined {
			t.Errorf("the store has %q, %d quarantined; want %q, %d", got, h.Quarantined(), want, quarantined)
		}
	}
	h.replace(t, "3", itemOf("a", "1"), itemOf("b", "2"), undecodableItem("c", "3"))
	expect("a@1 b@2", 1)
	h.expectLog(t, `"Object not stored" err="malformed" object="ns/c"`)
	h.Apply(watch.Modified, undecodableItem("a", "4"))
	expect("a@1 b@2", 2)
	h.expectLog(t, `"Object's newest state not stored, the last good state is kept" err="malformed" object="ns/a"`)
	h.replace(t, "5", undecodableItem("a", "4"), itemOf("b", "5"), itemOf("c", "3"))
	expect("a@1 b@5 c@3", 1)
	if !h.HasVersion(itemOf("b", "5")) || h.HasVersion(itemOf("b", "6")) || h.HasVersion(itemOf("d", "6")) {
		t.Error("HasVersion does not compare with the store")
	}
	h.Apply(watch.Deleted, undecodableItem("a", "6"))
	expect("b@5 c@3", 0)
	h.expectLog(t, `"Object deleted, its event has the last known state" err="state at deletion: malformed" object="ns/a"`)
	h.Apply(watch.Added, undecodableItem("a", "7"))
	h.Apply(watch.Modified, itemOf("a", "8"))
	expect("a@8 b@5 c@3", 0)
}

// TestPredecessorOfARefusedObjectIsDeleted recreates a Pod in a state that the store's transform
// refuses. The store must not keep the Pod of before, which was deleted.
func TestPredecessorOfARefusedObjectIsDeleted(t *testing.T) {
	refused := itemOf("a", "5")
	refused.UID, refused.Object.(*corev1.Pod).UID = "uid-new", "uid-new"
	store := refusingTransform{clientcache.NewStore(clientcache.MetaNamespaceKeyFunc)}
	h := newSinkHarness(store)
	h.replace(t, "3", itemOf("a", "3"))
	h.replace(t, "5", refused)
	if got := contentsOf(store.List()); got != "" || h.Quarantined() != 1 {
		t.Errorf("the store has %q, %d quarantined; want none, 1", got, h.Quarantined())
	}
	h.expectLog(t, `"Object not stored"`)
}

// refusingTransform is a store whose transform refuses states of version 5.
type refusingTransform struct{ clientcache.Store }

func (refusingTransform) Transformer() clientcache.TransformFunc {
	return func(obj any) (any, error) {
		if obj.(*corev1.Pod).ResourceVersion == "5" {
			return nil, errors.New("refused")
		}
		return obj, nil
	}
}

// replace commits a list.
func (h *sinkHarness) replace(t *testing.T, version string, items ...feed.Item) {
	t.Helper()
	list := h.Begin()
	for _, item := range items {
		list.Add(item)
	}
	if err := list.Commit(version); err != nil {
		t.Fatal(err)
	}
}

// unreadableStore is a store whose GetByKey panics.
type unreadableStore struct{ clientcache.Store }

func (unreadableStore) GetByKey(string) (item any, exists bool, err error) { panic("not implemented") }

// TestStoreThatCannotBeRead checks that such a store receives the objects that can be decoded.
func TestStoreThatCannotBeRead(t *testing.T) {
	store := unreadableStore{clientcache.NewStore(clientcache.MetaNamespaceKeyFunc)}
	h := newSinkHarness(store)
	h.replace(t, "2", itemOf("a", "1"), itemOf("b", "2"))
	h.replace(t, "3", undecodableItem("a", "1"), itemOf("b", "2"))
	if got := contentsOf(store.List()); got != "b@2" || h.HasVersion(itemOf("b", "2")) {
		t.Errorf("the store has %q", got)
	}
}

// perItemStore has the content of the last committed replacement.
type perItemStore struct {
	clientcache.Store

	content map[string]any
}

func (s *perItemStore) BeginReplace() ItemReplacement {
	return &perItemReplacement{s, map[string]any{}}
}

type perItemReplacement struct {
	store   *perItemStore
	content map[string]any
}

func (r *perItemReplacement) Add(obj any) error {
	r.content[obj.(*corev1.Pod).Name] = obj
	return nil
}

func (r *perItemReplacement) Delete(obj any) error {
	delete(r.content, obj.(*corev1.Pod).Name)
	return nil
}

func (r *perItemReplacement) Commit(string) error {
	r.store.content = r.content
	return nil
}

// TestChangesDuringAnInitialState checks that of several states of an object in a list the newest
// is stored, and that deletions are applied, in a list for Replace and in one by item.
func TestChangesDuringAnInitialState(t *testing.T) {
	collecting := clientcache.NewStore(clientcache.MetaNamespaceKeyFunc)
	perItem := &perItemStore{Store: clientcache.NewStore(clientcache.MetaNamespaceKeyFunc)}
	for _, store := range []clientcache.ReflectorStore{collecting, perItem} {
		h := newSinkHarness(store)
		h.Apply(watch.Added, itemOf("a", "0"))
		list := h.Begin()
		for _, item := range []feed.Item{itemOf("a", "1"), undecodableItem("b", "1"), itemOf("b", "2"), itemOf("c", "3"), itemOf("d", "4")} {
			list.Add(item)
		}
		list.Add(itemOf("b", "1"))
		h.expectLog(t, `"Object listed more than once, the newest version is stored"`)
		list.Update(itemOf("a", "5"))
		list.Remove(itemOf("b", "1")) // older
		list.Remove(itemOf("c", "6"))
		list.Remove(undecodableItem("d", "7"))
		list.Remove(itemOf("e", "8"))
		list.Update(undecodableItem("a", "9"))
		if err := list.Commit("9"); err != nil || h.Quarantined() != 1 {
			t.Fatalf("Commit returned %v; %d quarantined, want 1", err, h.Quarantined())
		}
	}
	want := "a@5 b@2"
	content := make([]any, 0, len(perItem.content))
	for _, obj := range perItem.content {
		content = append(content, obj)
	}
	for _, got := range []string{contentsOf(collecting.List()), contentsOf(content)} {
		if got != want {
			t.Errorf("the store has %q, want %q", got, want)
		}
	}
}

// versionStore records the last version that it received.
type versionStore struct {
	clientcache.Store

	version string
}

func (s *versionStore) UpdateResourceVersion(version string) { s.version = version }

// TestVersionOfTheStoreDoesNotGoBack checks that a deletion at an older version than the list's, as
// servers may send, does not pass on its version.
func TestVersionOfTheStoreDoesNotGoBack(t *testing.T) {
	store := &versionStore{Store: clientcache.NewStore(clientcache.MetaNamespaceKeyFunc)}
	h := newSinkHarness(store)
	h.replace(t, "9", itemOf("a", "1"), itemOf("b", "2"))
	h.Apply(watch.Deleted, itemOf("a", "1"))
	if got := contentsOf(store.List()); got != "b@2" || store.version != "" {
		t.Errorf("the store has %q and received version %q", got, store.version)
	}
	h.Apply(watch.Deleted, itemOf("b", "10"))
	if store.version != "10" {
		t.Errorf("the store received version %q, want 10", store.version)
	}
}

// TestReplaceFails checks that an error of Replace is that of the list, and that the sink then
// knows nothing of the list.
func TestReplaceFails(t *testing.T) {
	refused := errors.New("refused")
	h := newSinkHarness(refusingStore{err: refused})
	list := h.Begin()
	list.Add(undecodableItem("a", "1"))
	if err := list.Commit("1"); !errors.Is(err, refused) || h.Quarantined() != 0 {
		t.Errorf("Commit returned %v; %d quarantined", err, h.Quarantined())
	}
}

type refusingStore struct {
	clientcache.Store

	err error
}

func (refusingStore) GetByKey(string) (item any, exists bool, err error) { return nil, false, nil }
func (s refusingStore) Replace([]any, string) error                      { return fmt.Errorf("store: %w", s.err) }
