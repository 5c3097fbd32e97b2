// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

func newPods(t *testing.T) *Store {
	t.Helper()
	return New(history.NewMemory(), resource.BuiltIn(), 0).ForResource(corev1.SchemeGroupVersion.WithResource("pods"))
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

func TestConcurrentPatchesAreNotLost(t *testing.T) {
	pods := newPods(t)
	if _, err := pods.Create("ns", newPod("a"), Checked); err != nil {
		t.Fatal(err)
	}
	const writers, patches = 4, 50
	var done sync.WaitGroup
	for w := range writers {
		done.Go(func() {
			for i := range patches {
				patch := fmt.Appendf(nil, `{"metadata":{"labels":{"w%d-%d":"x"}}}`, w, i)
				_, err := pods.Patch("ns", "a", types.MergePatchType, patch, (*Store).Update, Checked)
				for apierrors.IsConflict(err) { // it may lose to the others any number of times
					_, err = pods.Patch("ns", "a", types.MergePatchType, patch, (*Store).Update, Checked)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	got, err := pods.Get("ns", "a", "", 0)
	if err != nil || len(got.GetLabels()) != writers*patches {
		t.Errorf("got %d labels, want %d (%v)", len(got.GetLabels()), writers*patches, err)
	}
}

// Concurrent deletes remove a Pod once, and do not remove the next Pod of the same name.
func TestConcurrentDeletesRemoveOnePod(t *testing.T) {
	pods := newPods(t)
	watcher, err := pods.Watch("ns", metav1.ListOptions{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	const rounds, deleters = 50, 4
	for range rounds {
		if _, err := pods.Create("ns", newPod("a"), Checked); err != nil {
			t.Fatal(err)
		}
		var done sync.WaitGroup
		for range deleters {
			done.Go(func() {
				if _, gone, err := pods.Delete("ns", "a", &metav1.DeleteOptions{}); !gone && !apierrors.IsNotFound(err) {
					t.Errorf("Delete: got removed %v, %v", gone, err)
				}
			})
		}
		done.Wait()
	}
	seen := map[watch.EventType]int{}
	for {
		events, changed, err := watcher.Next(100)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			seen[event.Type]++
		}
		if changed != nil {
			break
		}
	}
	if want := map[watch.EventType]int{watch.Added: rounds, watch.Modified: rounds, watch.Deleted: rounds}; fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("got events %v, want %v", seen, want)
	}
}

// A delete first marks a Pod and then removes it. If the Pod is replaced by another one of the same
// name between the two writes, the new Pod stays.
func TestDeleteDoesNotRemoveRecreatedPod(t *testing.T) {
	pods := newPods(t)
	marked := newPod("a")
	marked.UID = "another"
	if _, err := pods.Create("ns", newPod("a"), Checked); err != nil {
		t.Fatal(err)
	}
	if got, err := pods.remove("ns/a", marked); err != nil || got.GetUID() != "another" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := pods.Get("ns", "a", "", 0); err != nil {
		t.Errorf("Get of the new Pod: %v", err)
	}
}

func TestWritesDoNotModifyStoredObjects(t *testing.T) {
	pods := newPods(t)
	p := newPod("a")
	p.Labels, p.Finalizers = map[string]string{"l": "1"}, []string{"example.com/f"}
	first, err := pods.Create("ns", p, Checked)
	if err != nil {
		t.Fatal(err)
	}
	before := first.DeepCopyObject()
	steps := []func() error{
		func() error {
			return pods.Bind("ns", "a", &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"l": "2"}}, Target: corev1.ObjectReference{Name: "n"},
			}, Checked)
		},
		func() error {
			patch := []byte(`[{"op":"replace","path":"/metadata/labels/l","value":"3"}]`)
			_, err := pods.Patch("ns", "a", types.JSONPatchType, patch, (*Store).UpdateStatus, Checked)
			return err
		},
		func() error { _, _, err := pods.Delete("ns", "a", &metav1.DeleteOptions{}); return err },
		func() error { _, err := pods.Remove("ns", "a", ""); return err },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if fmt.Sprintf("%+v", first) != fmt.Sprintf("%+v", before) {
			t.Fatalf("step %d modified the stored object: got\n%+v\nwant\n%+v", i, first, before)
		}
	}
}

func TestGeneratedNameIsTruncated(t *testing.T) {
	pods := newPods(t)
	long := newPod("")
	long.GenerateName = "a-prefix-that-is-longer-than-the-sixty-three-letters-that-a-name-may-have-"
	got, err := pods.Create("ns", long, Checked)
	if err != nil || len(got.GetName()) != 63 {
		t.Errorf("got name %q (%v), want 63 characters", got.GetName(), err)
	}
}
