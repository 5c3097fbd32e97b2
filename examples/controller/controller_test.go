// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientset "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kinformer/kinformer/fake"
)

// harness is a controller in a bubble, whose server answers from two collections.
type harness struct {
	client     *clientset.Clientset
	pods       *fake.ListerWatcher[*corev1.Pod]
	configMaps *fake.ListerWatcher[*corev1.ConfigMap]
	cancel     context.CancelFunc
	stopped    chan error // receives the result of Run
}

// inBubble runs a controller after prepare, and waits until it is idle.
func inBubble(t *testing.T, prepare, test func(t *testing.T, h *harness)) {
	synctest.Test(t, func(t *testing.T) {
		h := &harness{
			client:     clientset.NewClientset(),
			pods:       fake.NewListerWatcher(&corev1.Pod{}),
			configMaps: fake.NewListerWatcher(&corev1.ConfigMap{}),
			stopped:    make(chan error, 1),
		}
		h.pods.Serve(h.client, "pods")
		h.configMaps.Serve(h.client, "configmaps")
		prepare(t, h)
		c, err := newController(h.client)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		h.cancel = cancel
		defer cancel()
		go func() { h.stopped <- c.Run(ctx) }()
		synctest.Wait()
		test(t, h)
	})
}

func (h *harness) createPod(namespace string) {
	h.pods.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}})
	synctest.Wait()
}

// loseFirstWrites makes the server forget the first ConfigMap of each Namespace after it has
// returned a version that it will not reach, as a restore of etcd does.
func (h *harness) loseFirstWrites(namespaces ...string) {
	var mu sync.Mutex
	lost := make(map[string]bool)
	for _, namespace := range namespaces {
		lost[namespace] = true
	}
	h.client.PrependReactor("create", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		if !lost[action.GetNamespace()] {
			return false, nil, nil
		}
		delete(lost, action.GetNamespace())
		return true, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: action.GetNamespace(), Name: configMapName, ResourceVersion: "1000000",
		}}, nil
	})
}

// A restore of etcd undoes one write of each worker. Neither waits for it for longer than
// writeTimeout: other Namespaces are counted, and the two are tried again.
func TestLostWritesDoNotBlockTheWorkers(t *testing.T) {
	inBubble(t, func(_ *testing.T, h *harness) {
		h.loseFirstWrites("shop", "search")
	}, func(t *testing.T, h *harness) {
		for _, namespace := range []string{"shop", "search", "mail"} {
			h.createPod(namespace)
		}
		<-time.After(writeTimeout + time.Minute) // of simulated time
		for _, namespace := range []string{"shop", "search", "mail"} {
			if written, _ := h.configMaps.Get(namespace + "/" + configMapName); written == nil || written.Data["pods"] != "1" {
				t.Errorf("Namespace %s has the ConfigMap %v, want one Pod", namespace, written)
			}
		}
		h.cancel()
		if err := <-h.stopped; err != nil {
			t.Error(err)
		}
	})
}

func forbidPods(_ *testing.T, h *harness) {
	h.pods.InjectListFault(-1, fake.Fault{Err: fake.Forbidden()})
}

// The controller is stopped while it may not list Pods. That is no failure.
func TestStopBeforeSyncIsNoError(t *testing.T) {
	inBubble(t, forbidPods, func(t *testing.T, h *harness) {
		h.cancel()
		if err := <-h.stopped; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// The controller may not list Pods. It says so after syncTimeout.
func TestRunReturnsWhyItHasNotSynced(t *testing.T) {
	inBubble(t, forbidPods, func(t *testing.T, h *harness) {
		<-time.After(syncTimeout) // of simulated time
		synctest.Wait()
		select {
		case err := <-h.stopped:
			if !apierrors.IsForbidden(err) {
				t.Errorf("Run returned %v, want Forbidden", err)
			}
		default:
			t.Error("Run has not returned")
		}
	})
}
