// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/e2e/objects"
)

// TestInformerDeliversEveryChangeOfPods checks that each change of a Pod is delivered in order and
// once, to a subject started before the changes and to one started during them, and that both reach
// the server's state.
func TestInformerDeliversEveryChangeOfPods(t *testing.T) {
	t.Parallel()
	pods := newPodCollection(t, shared(t), 120)
	early := startSubjects(t, pods.cluster, &corev1.Pod{}, pods.list)
	awaitListed(t, early)
	pods.write(t, 1500)
	var late []*subject
	pods.writeDuring(t, func() {
		late = startSubjects(t, pods.cluster, &corev1.Pod{}, pods.list)
		awaitListed(t, late)
	}, 1500)

	objects, changes := pods.ledger.size()
	t.Logf("%d Pods, %d changes", objects, changes)
	t.Run("early", func(t *testing.T) {
		expectAllSettled(t, early, pods.truth, func(t *testing.T, s *subject) { expectEveryChangeFromStart(t, s.recorder, pods.ledger) })
	})
	t.Run("late", func(t *testing.T) {
		expectAllSettled(t, late, pods.truth, func(t *testing.T, s *subject) { expectEveryChange(t, s.recorder, pods.ledger) })
	})
}

// TestInformerDeliversEveryChangeOfNodes is the same for Nodes, which have no namespace and change
// mostly by heartbeats.
func TestInformerDeliversEveryChangeOfNodes(t *testing.T) {
	t.Parallel()
	c := shared(t)
	clientset := clientsetFor(t, c)
	// Other tests create Nodes, too. The name of a namespace is a unique label.
	label := labels.Set{"e2e.example.com/test": namespace(t, clientset)}
	w := newWriter(nodeAuthor{clientset, objects.NewLife(clientset, seed), label}, 40)
	t.Cleanup(func() { // another run of this test creates Nodes with the same names
		err := clientset.CoreV1().Nodes().DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: label.String()})
		if err != nil {
			t.Error(err)
		}
	})
	w.fill(t)
	list := func(t *testing.T, config *rest.Config) cache.ListerWatcher {
		t.Helper()
		return cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes(), cache.WithLabelSelector(label.AsSelector()))
	}
	subjects := startSubjects(t, c, &corev1.Node{}, list)
	awaitListed(t, subjects)
	w.write(t, 1000)

	expectAllSettled(t, subjects, truthOf(func(ctx context.Context) ([]*corev1.Node, error) {
		list, err := clientset.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: label.String()})
		return pointers(list.Items), err
	}), func(t *testing.T, s *subject) {
		expectEveryChange(t, s.recorder, w.ledger)
		if s.initial != w.number {
			t.Errorf("%d Nodes in the initial list, want %d", s.initial, w.number)
		}
	})
}

// TestInformerInitialSync checks that the initial state is fetched by a list or a WatchList,
// according to the option WatchList, and delivered with InInitialList set.
func TestInformerInitialSync(t *testing.T) {
	t.Parallel()
	pods := newPodCollection(t, shared(t), 700) // more than a page
	pods.fill(t)
	subjects := startSubjects(t, pods.cluster, &corev1.Pod{}, pods.list)
	for _, s := range subjects {
		if s.controller == nil {
			continue
		}
		if err := s.controller.WaitForDelivery(t.Context()); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if now, _ := s.snapshot(); len(now) != pods.number {
			t.Errorf("%s has synced, and its handler has received %d Pods, want %d", s.name, len(now), pods.number)
		}
	}
	expectAllSettled(t, subjects, pods.truth, func(t *testing.T, s *subject) {
		if s.initial != pods.number {
			t.Errorf("%d additions in the initial list, want %d", s.initial, pods.number)
		}
		await(t, "a watch is open", s.checkRequests)
	})
}

// checkRequests returns an error if the requests are not those of the option WatchList.
func (s *subject) checkRequests(context.Context) error {
	lists, watches, watchLists := s.requests.count()
	if s.watchList && (lists != 0 || watches != 0 || watchLists != 1) || !s.watchList && (lists == 0 || watches != 1 || watchLists != 0) {
		return fmt.Errorf("%d lists, %d watches and %d WatchLists", lists, watches, watchLists)
	}
	return nil
}

// podCollection is the Pods of a test's namespace, and their writer.
type podCollection struct {
	*writer
	cluster   *cluster.Cluster
	clientset *kubernetes.Clientset
	namespace string
	list      listWatchFunc
	truth     truth
}

func newPodCollection(t *testing.T, c *cluster.Cluster, number int) *podCollection {
	t.Helper()
	clientset := clientsetFor(t, c)
	ns := namespace(t, clientset)
	return &podCollection{
		writer:    newWriter(podAuthor{clientset, objects.NewLife(clientset, seed), ns}, number),
		cluster:   c,
		clientset: clientset,
		namespace: ns,
		list: func(t *testing.T, config *rest.Config) cache.ListerWatcher {
			t.Helper()
			return cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods(ns))
		},
		truth: truthOf(func(ctx context.Context) ([]*corev1.Pod, error) {
			list, err := clientset.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
			return pointers(list.Items), err
		}),
	}
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// nodeAuthor writes Nodes as kubelets do.
type nodeAuthor struct {
	clientset kubernetes.Interface
	life      *objects.Life
	label     labels.Set
}

func (a nodeAuthor) node(number int) *corev1.Node {
	node := objects.NewNode(seed, 5000+number)
	node.Labels = labels.Merge(node.Labels, a.label)
	return node
}

func (a nodeAuthor) create(ctx context.Context, number int) (metav1.Object, error) {
	return a.clientset.CoreV1().Nodes().Create(ctx, a.node(number), metav1.CreateOptions{})
}

func (a nodeAuthor) change(ctx context.Context, obj metav1.Object, n int) (metav1.Object, error) {
	return a.life.Report(ctx, obj.(*corev1.Node), n%10 != 0)
}

func (a nodeAuthor) remove(ctx context.Context, obj metav1.Object) error {
	return a.clientset.CoreV1().Nodes().Delete(ctx, obj.GetName(), metav1.DeleteOptions{})
}

func (a nodeAuthor) get(ctx context.Context, number int) (metav1.Object, error) {
	return a.clientset.CoreV1().Nodes().Get(ctx, a.node(number).Name, metav1.GetOptions{})
}
