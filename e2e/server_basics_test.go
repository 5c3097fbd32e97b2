// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/e2e/objects"
)

func TestServerReportsRelease(t *testing.T) {
	version, err := clientsetFor(t, shared(t)).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != "v1.36.3" {
		t.Errorf("the server reports version %s, want v1.36.3", version.GitVersion)
	}
}

// TestServerWatchShowsPodLifecycle checks the watch events of a Pod's life cycle, on which the
// other tests rely.
func TestServerWatchShowsPodLifecycle(t *testing.T) {
	clientset := clientsetFor(t, shared(t))
	ns, life := namespace(t, clientset), objects.NewLife(clientset, seed)
	list, err := clientset.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Fatalf("a new namespace has %d Pods (%v), want none", len(list.Items), err)
	}
	w := watchPods(t, clientset, ns, list.ResourceVersion)

	pod, err := life.Run(t.Context(), objects.NewWorkload(seed, 0, ns).Pod(0), objects.NodeName(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := life.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}

	last := version(t, list.ResourceVersion)
	// A deletion without grace period is two writes: one sets deletionTimestamp, one removes the
	// Pod.
	for i, want := range []watch.EventType{watch.Added, watch.Modified, watch.Modified, watch.Modified, watch.Modified, watch.Deleted} {
		kind, seen := w.pod(t)
		if terminating := seen.DeletionTimestamp != nil; terminating != (i >= 4) {
			t.Errorf("event %d has a deletionTimestamp: %t", i, terminating)
		}
		if kind != want || seen.UID != pod.UID {
			t.Errorf("event %d is %s of %s, want %s of %s", i, kind, seen.UID, want, pod.UID)
		}
		if v := version(t, seen.ResourceVersion); v <= last {
			t.Errorf("event %d has resourceVersion %d after %d", i, v, last)
		} else {
			last = v
		}
	}
	_, err = clientset.CoreV1().Pods(ns).Get(t.Context(), pod.Name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("Get of the deleted Pod returned %v, want NotFound", err)
	}
}

func version(t *testing.T, resourceVersion string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		t.Fatalf("resourceVersion %q: %v", resourceVersion, err)
	}
	return v
}

// TestServerStoresRealisticPods checks that generated Pods have the size and the field managers of
// production Pods, so that measurements with them are meaningful.
func TestServerStoresRealisticPods(t *testing.T) {
	clientset := clientsetFor(t, shared(t))
	ns, life := namespace(t, clientset), objects.NewLife(clientset, seed)
	var sizes []int
	for i := range 40 {
		pod, err := life.Run(t.Context(), objects.NewWorkload(seed, i, ns).Pod(0), objects.NodeName(i))
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, pod.Size())
		want := []string{"kube-controller-manager", "kubelet", "multus"}
		if got := managers(pod); !slices.Equal(got, want) {
			t.Errorf("Pod %s has the field managers %v, want %v", pod.Name, got, want)
		}
	}
	slices.Sort(sizes)
	median := sizes[len(sizes)/2]
	t.Logf("protobuf sizes of Pods: minimum %d, median %d, maximum %d", sizes[0], median, sizes[len(sizes)-1])
	if median < 4000 || median > 8000 {
		t.Errorf("the median Pod has %d bytes, want 4-8 KB", median)
	}
}

func managers(pod *corev1.Pod) []string {
	var names []string
	for _, entry := range pod.ManagedFields {
		names = append(names, entry.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestServerStoresNodes(t *testing.T) {
	clientset := clientsetFor(t, shared(t))
	life := objects.NewLife(clientset, seed)
	node, err := life.Join(t.Context(), objects.NewNode(seed, 1))
	if err != nil {
		t.Fatal(err)
	}
	notReady, err := life.Report(t.Context(), node, false)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := ready(node), ready(notReady); a != corev1.ConditionTrue || b != corev1.ConditionFalse {
		t.Errorf("the Node was reported ready %s, then %s, want True, then False", a, b)
	}
	if notReady.Generation != node.Generation || notReady.ResourceVersion == node.ResourceVersion {
		t.Error("a status report must change the resourceVersion and not the generation")
	}
	err = clientset.CoreV1().Nodes().Delete(t.Context(), node.Name, metav1.DeleteOptions{})
	if err != nil {
		t.Error(err)
	}
}

func ready(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}

// TestServerSendsInitialEvents checks a WatchList: the server sends the existing objects, then the
// bookmark that ends the initial state.
func TestServerSendsInitialEvents(t *testing.T) {
	clientset := clientsetFor(t, shared(t))
	ns, life := namespace(t, clientset), objects.NewLife(clientset, seed)
	const pods = 5
	for i := range pods {
		if _, err := life.Create(t.Context(), objects.NewWorkload(seed, 0, ns).Pod(i)); err != nil {
			t.Fatal(err)
		}
	}
	w := watchPodsWith(t, clientset, ns, metav1.ListOptions{
		SendInitialEvents: new(true), AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	for i := range pods {
		if kind, _ := w.pod(t); kind != watch.Added {
			t.Errorf("event %d is %s, want ADDED", i, kind)
		}
	}
	kind, end := w.pod(t)
	if kind != watch.Bookmark || end.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("after the Pods: %s with annotations %v, want the initial-events-end bookmark", kind, end.Annotations)
	}
}

func TestServerListsInPages(t *testing.T) {
	clientset := clientsetFor(t, shared(t))
	ns, life := namespace(t, clientset), objects.NewLife(clientset, seed)
	for i := range 5 {
		if _, err := life.Create(t.Context(), objects.NewWorkload(seed, 0, ns).Pod(i)); err != nil {
			t.Fatal(err)
		}
	}
	var pages []int
	options := metav1.ListOptions{Limit: 2}
	for {
		list, err := clientset.CoreV1().Pods(ns).List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, len(list.Items))
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	if got := fmt.Sprint(pages); got != "[2 2 1]" {
		t.Errorf("5 Pods are listed in pages of %s, want [2 2 1]", got)
	}
}
