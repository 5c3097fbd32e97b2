// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"reflect"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/informer"
)

// stateChecker is an event handler that compares the old state of each event with the new one of
// the handler's last event of the key.
type stateChecker struct {
	t       *testing.T
	last    map[string]*corev1.Pod // copies
	updates int
	shared  int           // updates whose states share their labels
	markers chan struct{} // receives a value at each update of the marker
}

func addStateChecker(t *testing.T, run *churnInformer, name string, everyEvent bool) *stateChecker {
	t.Helper()
	c := &stateChecker{t: t, last: map[string]*corev1.Pod{}, markers: make(chan struct{}, 1)}
	handler, err := run.informer.Add(informer.HandlerConfig{Name: name, EveryEvent: everyEvent, OnEvent: c.check})
	if err != nil {
		t.Fatal(err)
	}
	<-handler.Synced()
	return c
}

func (c *stateChecker) check(e informer.Event) {
	old, _ := e.Old.(*corev1.Pod)
	if last := c.last[e.Key]; !reflect.DeepEqual(old, last) {
		c.t.Errorf("%s: the old state is %v, want %v", e.Key, old, last)
	}
	if e.Type == informer.Delete {
		delete(c.last, e.Key)
		return
	}
	pod := e.New.(*corev1.Pod)
	c.last[e.Key] = pod.DeepCopy()
	if e.Type != informer.Update {
		return
	}
	if c.updates++; pod.ResourceVersion == old.ResourceVersion {
		c.t.Errorf("%s: the update is to the same version %s", e.Key, pod.ResourceVersion)
	}
	if len(pod.Labels) > 0 && reflect.ValueOf(pod.Labels).Pointer() == reflect.ValueOf(old.Labels).Pointer() {
		c.shared++
	}
	if c.updates%100 == 0 {
		runtime.GC() // frees decoded states between events
	}
	if e.Key == marker {
		c.markers <- struct{}{}
	}
}

// TestPackedUpdatesHaveTheStatesOfTheirHandler delivers events of a packed informer to handlers of
// which one was added late. The states of an update are decoded together, unless a reader
// references one, and are those of each handler.
func TestPackedUpdatesHaveTheStatesOfTheirHandler(t *testing.T) {
	run := runChurnInformer(t, newChurn(100))
	checkers := []*stateChecker{addStateChecker(t, run, "every event", true), addStateChecker(t, run, "coalescing", false)}
	for range 3 {
		run.send(500)
		for _, c := range checkers {
			<-c.markers
			if c.updates == 0 || c.shared == 0 {
				t.Errorf("%d updates were delivered, in %d of which the states share labels", c.updates, c.shared)
			}
		}
		checkers = append(checkers, addStateChecker(t, run, "late", true))
	}
	for _, c := range checkers {
		for key, last := range c.last {
			if value, _ := run.informer.Store().Get(key); !reflect.DeepEqual(value, last) {
				t.Errorf("%s: the last state is not that of the store", key)
			}
		}
	}
}

// TestPackedEventsKeepNoDecodedObjects updates each Pod of a packed informer with an event handler,
// after which the informer has as much memory as before. A name that the handler keeps does not
// keep its object.
func TestPackedEventsKeepNoDecodedObjects(t *testing.T) {
	c := newChurn(*churnPods)
	run := runChurnInformer(t, c)
	delivered, names := make(chan struct{}), make([]string, 0, c.pods())
	keepNames := false
	handler, err := run.informer.Add(informer.HandlerConfig{Name: "events", EveryEvent: true, OnEvent: func(e informer.Event) {
		if keepNames {
			names = append(names, e.New.(*corev1.Pod).Name)
		}
		if e.Type == informer.Update && e.Key == marker {
			delivered <- struct{}{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-handler.Synced()
	updateAll := func() uint64 {
		for i := range c.deployments {
			for j := range c.deployments[i].pods {
				pod := &c.deployments[i].pods[j]
				pod.values[statusField] = c.hex(64)
				c.queue = append(c.queue, change{watch.Modified, *pod})
			}
		}
		run.send(len(c.queue) + 1)
		<-delivered
		clear(run.held[:])
		c.queue = nil
		return heapInUse()
	}
	for range 3 { // until the tables of the decoder have grown
		updateAll()
	}
	before := updateAll()
	after := updateAll()
	if after > before+before*3/100 {
		t.Errorf("%d bytes after an update of each Pod, %d before", after, before)
	}
	keepNames = true
	kept := updateAll()
	if n := uint64(len(names)); n != uint64(c.pods()) || kept > after+after*3/100+100*n {
		t.Errorf("%d bytes with %d names, %d without", kept, n, after)
	}
}
