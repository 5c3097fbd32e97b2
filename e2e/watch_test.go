// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// waitTimeout is how long a test waits for an expected event. It is long for slow machines, and
// does not slow a passing test.
const waitTimeout = time.Minute

// podWatch watches the Pods of a namespace.
type podWatch struct {
	watch.Interface
}

func watchPods(t *testing.T, clientset kubernetes.Interface, namespace, resourceVersion string) podWatch {
	t.Helper()
	return watchPodsWith(t, clientset, namespace, metav1.ListOptions{ResourceVersion: resourceVersion})
}

func watchPodsWith(t *testing.T, clientset kubernetes.Interface, namespace string, options metav1.ListOptions) podWatch {
	t.Helper()
	w, err := clientset.CoreV1().Pods(namespace).Watch(t.Context(), options)
	if err != nil {
		t.Fatalf("watch Pods in namespace %s from resourceVersion %q: %v", namespace, options.ResourceVersion, err)
	}
	t.Cleanup(w.Stop)
	return podWatch{w}
}

// next returns the next event of the watch. ok is false if the server has closed it.
func (w podWatch) next(t *testing.T) (event watch.Event, ok bool) {
	t.Helper()
	timeout := time.NewTimer(waitTimeout)
	defer timeout.Stop()
	select {
	case event, ok = <-w.ResultChan():
		return event, ok
	case <-timeout.C:
		t.Fatalf("no event within %s", waitTimeout)
		return watch.Event{}, false
	}
}

// pod returns the next event, which must be of a Pod.
func (w podWatch) pod(t *testing.T) (watch.EventType, *corev1.Pod) {
	t.Helper()
	event, ok := w.next(t)
	pod, isPod := event.Object.(*corev1.Pod)
	if !ok || !isPod {
		t.Fatalf("watch: %s, want an event of a Pod", describe(event, ok))
	}
	return event.Type, pod
}

// awaitEnd reads the watch until the server closes it.
func (w podWatch) awaitEnd(t *testing.T) {
	t.Helper()
	for {
		if _, ok := w.next(t); !ok {
			return
		}
	}
}

// describe describes an event for messages.
func describe(event watch.Event, ok bool) string {
	if !ok {
		return "end of the watch"
	}
	if event.Type == watch.Error {
		return fmt.Sprintf("ERROR %v", apierrors.FromObject(event.Object))
	}
	return fmt.Sprintf("%s %T", event.Type, event.Object)
}
