// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientfake "k8s.io/client-go/kubernetes/fake"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/utils/ptr"

	"github.com/kinformer/kinformer/fake"
)

// TestReplicaSetReplacesPodsAtOnce checks that replacements are created at once after the
// controller's handler was blocked while its Pods ran, terminated and were deleted. The controller
// waits, for at most five minutes, until it has received all Pods that it has created and deleted:
// if events are coalesced incorrectly, the replacements are created after five minutes.
func TestReplicaSetReplacesPodsAtOnce(t *testing.T) {
	for _, d := range deliveries() {
		t.Run(d.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testReplacements(t, d) })
		})
	}
}

func testReplacements(t *testing.T, d delivery) {
	t.Helper()
	s := startReplicaSets(t, d)
	defer s.stop()
	defer s.gate.release() // otherwise a failed test never ends

	block(s.gate, s.pods)
	s.scale(4)
	pods := s.active()
	if len(pods) != 4 {
		t.Fatalf("the controller created %d Pods, want 4", len(pods))
	}
	s.run(pods[0])
	s.pods.Delete(key(pods[1])) // without grace period
	s.terminate(pods[2])
	s.run(pods[3])
	s.terminate(pods[3])
	s.pods.Delete(key(pods[3]))
	s.expectAfterRelease(4, d)

	// Now the controller waits until it has received its deletions.
	block(s.gate, s.pods)
	s.scale(1)
	if active := s.active(); len(active) != 1 {
		t.Fatalf("the controller left %d Pods, want 1", len(active))
	}
	for _, pod := range s.all() {
		if pod.DeletionTimestamp != nil {
			s.pods.Delete(key(pod))
		}
	}
	s.scale(3)
	if d.isCorrect() {
		s.expectAfterRelease(3, d)
	} else {
		s.gate.release()
	}
}

// replicaSets is a ReplicaSet controller on kinformer's informers, with one ReplicaSet.
type replicaSets struct {
	t           *testing.T
	pods        *fake.ListerWatcher[*corev1.Pod]
	replicaSets *fake.ListerWatcher[*appsv1.ReplicaSet]
	gate        *gate
	stop        func()
}

type podInformer struct{ subject }

func (i podInformer) Informer() clientcache.SharedIndexInformer { return i.subject }
func (i podInformer) Lister() corelisters.PodLister             { return corelisters.NewPodLister(i.GetIndexer()) }

type replicaSetInformer struct{ subject }

func (i replicaSetInformer) Informer() clientcache.SharedIndexInformer { return i.subject }
func (i replicaSetInformer) Lister() appslisters.ReplicaSetLister {
	return appslisters.NewReplicaSetLister(i.GetIndexer())
}

func startReplicaSets(t *testing.T, d delivery) *replicaSets {
	t.Helper()
	s := &replicaSets{
		t:           t,
		pods:        fake.NewListerWatcher(&corev1.Pod{}),
		replicaSets: fake.NewListerWatcher(&appsv1.ReplicaSet{}),
		gate:        newGate(),
	}
	createBackground(s.pods, func() *corev1.Pod { return &corev1.Pod{} })
	s.replicaSets.Create(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "web",
			OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web", UID: "deployment", Controller: ptr.To(true)}},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To[int32](0),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}},
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	pods := newSubject(s.pods, &corev1.Pod{}, d, s.gate)
	sets := newSubject(s.replicaSets, &appsv1.ReplicaSet{}, delivery{every: true, adapter: d.adapter}, newGate())
	controller := replicaset.NewReplicaSetController(ctx, replicaSetInformer{sets}, podInformer{pods}, s.client(), replicaset.BurstReplicas)
	stopped := []<-chan struct{}{
		pods.start(ctx, t),
		sets.start(ctx, t),
		runAsync(func() { controller.Run(ctx, 2) }),
	}
	s.stop = stopFunc(cancel, stopped)
	advance(time.Second)
	return s
}

// client returns the controller's client, which writes to the fake collections.
func (s *replicaSets) client() *clientfake.Clientset {
	client := clientfake.NewSimpleClientset()
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pod := action.(clienttesting.CreateAction).GetObject().DeepCopyObject().(*corev1.Pod)
		pod.Namespace = action.GetNamespace()
		return true, s.pods.Create(pod), nil
	})
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if pod, ok := s.pods.Get(namespace + "/" + action.(clienttesting.DeleteAction).GetName()); ok {
			s.terminate(pod)
		}
		return true, nil, nil
	})
	client.PrependReactor("update", "replicasets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "status" {
			return true, nil, fmt.Errorf("unexpected update of %s", action.GetSubresource())
		}
		status := action.(clienttesting.UpdateAction).GetObject().(*appsv1.ReplicaSet).Status
		return true, s.change(func(rs *appsv1.ReplicaSet) { rs.Status = status }), nil
	})
	return client
}

// change updates the ReplicaSet.
func (s *replicaSets) change(change func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	rs, ok := s.replicaSets.Get(namespace + "/web")
	if !ok {
		s.t.Error("the ReplicaSet does not exist")
	}
	change(rs)
	return s.replicaSets.Update(rs)
}

// all returns the Pods of the ReplicaSet.
func (s *replicaSets) all() []*corev1.Pod {
	return listNamespace[*corev1.Pod](s.t, s.pods, labels.Everything())
}

// active returns the Pods without deletionTimestamp.
func (s *replicaSets) active() []*corev1.Pod {
	return slices.DeleteFunc(s.all(), func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// scale sets the number of replicas and waits a second for the controller.
func (s *replicaSets) scale(replicas int32) {
	s.change(func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &replicas })
	advance(time.Second)
}

// run binds a Pod and sets it running, like the scheduler and the kubelet.
func (s *replicaSets) run(pod *corev1.Pod) {
	pod, _ = s.pods.Get(key(pod))
	pod.Spec.NodeName = "node"
	s.pods.Update(pod)
	pod.Status.Phase = corev1.PodRunning
	s.pods.Update(pod)
}

// terminate deletes a Pod with grace period.
func (s *replicaSets) terminate(pod *corev1.Pod) {
	pod, _ = s.pods.Get(key(pod))
	pod.DeletionTimestamp = ptr.To(metav1.Now())
	s.pods.Update(pod)
}

// expectAfterRelease makes a backlog that is long enough to be coalesced, and unblocks the handler.
// It expects a number of Pods at once, or, if events are coalesced incorrectly, after the
// controller's timeout.
func (s *replicaSets) expectAfterRelease(replicas int, d delivery) {
	s.t.Helper()
	updateBackground(s.pods, backlogEvents)
	synctest.Wait()
	before := s.gate.count()
	s.gate.release()
	took := s.untilActive(replicas)
	calls := s.gate.count() - before
	s.t.Logf("%d Pods %v after the release, %d calls", replicas, took, calls)
	expectCoalesced(s.t, calls, d)
	switch soon := took <= time.Second; {
	case d.isCorrect() && !soon:
		s.t.Errorf("the replacements were created after %v, want at once", took)
	case !d.isCorrect() && took < controller.ExpectationsTimeout-time.Minute:
		s.t.Errorf("the replacements were created after %v although events were coalesced incorrectly: the test does not detect it", took)
	}
}

// untilActive returns the time until there are want Pods without deletionTimestamp.
func (s *replicaSets) untilActive(want int) time.Duration {
	s.t.Helper()
	began := time.Now()
	for step := 1; time.Since(began) < 2*controller.ExpectationsTimeout; step++ {
		synctest.Wait()
		if len(s.active()) == want {
			return time.Since(began)
		}
		if step%10 == 0 { // makes the controller sync again
			s.change(func(rs *appsv1.ReplicaSet) { rs.Annotations = map[string]string{"step": fmt.Sprint(step)} })
		}
		advance(time.Second)
	}
	s.t.Fatalf("%d Pods after %v, want %d", len(s.active()), time.Since(began), want)
	return 0
}
