// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
)

// pod returns a Pod in the namespace ns.
func pod(name string, edit ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	for _, e := range edit {
		e(p)
	}
	return p
}

func label(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{key: value} }
}

func onNode(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeName = node }
}

// describe formats an event as "TYPE name@version", with a "!" at the end of the initial events.
func describe(e watch.Event) string {
	if status, ok := e.Object.(*metav1.Status); ok {
		return fmt.Sprintf("%s %d %s", e.Type, status.Code, status.Reason)
	}
	obj := e.Object.(metav1.Object)
	end := ""
	if obj.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		end = "!"
	}
	return fmt.Sprintf("%s %s@%s%s", e.Type, obj.GetName(), obj.GetResourceVersion(), end)
}

// buffered drains the channel of a watch. It returns the events and reports whether the channel is
// closed.
func buffered(w watch.Interface) (events []string, closed bool) {
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return events, true
			}
			events = append(events, describe(e))
		default:
			return events, false
		}
	}
}

// expectEvents requires an open watch with exactly these events in its channel.
func expectEvents(t *testing.T, w watch.Interface, want ...string) {
	t.Helper()
	got, closed := buffered(w)
	if fmt.Sprint(got) != fmt.Sprint(want) || closed {
		t.Errorf("got events %v (closed: %v), want %v on an open watch", got, closed, want)
	}
}

// expectEnd requires a closed watch with exactly these events in its channel.
func expectEnd(t *testing.T, w watch.Interface, want ...string) {
	t.Helper()
	got, closed := buffered(w)
	if fmt.Sprint(got) != fmt.Sprint(want) || !closed {
		t.Errorf("got events %v (closed: %v), want %v on a closed watch", got, closed, want)
	}
}

func mustWatch[T fake.Object](t *testing.T, lw *fake.ListerWatcher[T], opts metav1.ListOptions) watch.Interface {
	t.Helper()
	w, err := lw.Watch(context.Background(), opts)
	if err != nil {
		t.Fatalf("Watch(%+v): %v", opts, err)
	}
	t.Cleanup(w.Stop)
	return w
}

func mustList[T fake.Object](t *testing.T, lw *fake.ListerWatcher[T], opts metav1.ListOptions) (runtime.Object, []string) {
	t.Helper()
	list, err := lw.List(context.Background(), opts)
	if err != nil {
		t.Fatalf("List(%+v): %v", opts, err)
	}
	return list, itemsOf(t, list)
}

// itemsOf formats the items of a list as "name@version".
func itemsOf(t *testing.T, list runtime.Object) []string {
	t.Helper()
	names := []string{}
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		o := obj.(metav1.Object)
		names = append(names, o.GetName()+"@"+o.GetResourceVersion())
		return nil
	})
	if err != nil {
		t.Fatalf("read items of %T: %v", list, err)
	}
	return names
}

func expectItems(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got items %v, want %v", got, want)
	}
}

func versionOf(t *testing.T, obj runtime.Object) string {
	t.Helper()
	accessor, err := meta.CommonAccessor(obj)
	must(t, err)
	return accessor.GetResourceVersion()
}

// addVersions returns version + n.
func addVersions(t *testing.T, version string, n int) string {
	t.Helper()
	v, err := strconv.Atoi(version)
	must(t, err)
	return strconv.Itoa(v + n)
}
