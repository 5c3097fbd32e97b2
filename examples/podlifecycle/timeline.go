// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// timeline prints who saw or did what, and when.
type timeline struct {
	mu  sync.Mutex // held while printing
	out io.Writer
}

func newTimeline(out io.Writer) *timeline { return &timeline{out: out} }

// saw prints what a component has received from an informer, by its initial list or later.
func (t *timeline) saw(who, request string, inList bool, format string, args ...any) {
	verb := "watch"
	if inList {
		verb = "list"
	}
	t.print(who, "saw ", fmt.Sprintf(format, args...)+"  ("+verb+" "+request+")")
}

// did prints a request of a component, which has succeeded.
func (t *timeline) did(who, format string, args ...any) {
	t.print(who, "did ", fmt.Sprintf(format, args...))
}

func (t *timeline) print(who, what, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, "%s  %-10s  %s %s\n", time.Now().Format("15:04:05.000"), who, what, text)
}

// sawPod prints an event of a Pod.
func (t *timeline) sawPod(who, request string, event cache.Event[*corev1.Pod]) {
	pod := event.Object()
	state := string(pod.Status.Phase)
	switch {
	case event.Type == cache.EventDelete:
		state = "gone"
	case pod.DeletionTimestamp != nil:
		state = "terminating"
	case pod.Spec.NodeName == "":
		state = "without a node"
	case pod.Status.Phase == "" || pod.Status.Phase == corev1.PodPending:
		state = "bound to " + pod.Spec.NodeName
	}
	t.saw(who, request, event.InInitialList, "Pod %s %s", pod.Name, state)
}
