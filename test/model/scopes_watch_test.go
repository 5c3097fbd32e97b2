// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// gatedWatch is a watch whose events wait while its lane lags.
type gatedWatch struct {
	watch.Interface
	server  *scopedServer
	lane    int
	result  chan watch.Event
	stopped chan struct{}
	once    sync.Once
	faults  chan string         // kinds of faults that are due
	sent    []watch.Event       // without bookmarks
	initial *metav1.ListOptions // of a WatchList whose initial events have not ended
}

// ResultChan implements watch.Interface.
func (w *gatedWatch) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *gatedWatch) Stop() {
	w.once.Do(func() { close(w.stopped) })
	w.Interface.Stop()
}

func (w *gatedWatch) run() {
	defer close(w.result)
	for {
		var events []watch.Event
		ends := false
		select {
		case event, open := <-w.Interface.ResultChan():
			if !open {
				return
			}
			if obj, ok := event.Object.(*corev1.ConfigMap); ok {
				withProgramVersion(obj)
			}
			events = append(events, event)
		case kind := <-w.faults:
			events = w.faulty(kind)
			_, ends = streamErrors[kind]
		}
		if !w.awaitRelease() {
			return
		}
		for _, event := range events {
			w.noteInitial(event)
			if !w.send(event) {
				return
			}
		}
		if ends {
			w.Interface.Stop()
			return
		}
	}
}

// awaitRelease waits while the lane lags. It returns false if the watch was stopped meanwhile.
func (w *gatedWatch) awaitRelease() bool {
	w.server.mu.Lock()
	release := w.server.lanes[w.lane].release
	w.server.mu.Unlock()
	if release == nil {
		return true
	}
	select {
	case <-release:
		return true
	case <-w.stopped:
		return false
	}
}

// send sends an event. It returns false if the watch was stopped.
func (w *gatedWatch) send(event watch.Event) bool {
	if obj, ok := event.Object.(*corev1.ConfigMap); ok && event.Type != watch.Bookmark {
		w.sent = append(w.sent, watch.Event{Type: event.Type, Object: obj.DeepCopy()}) // the reader may change obj
	}
	select {
	case w.result <- event:
	case <-w.stopped:
		return false
	}
	return true
}

// faulty returns the events of a fault.
func (w *gatedWatch) faulty(kind string) []watch.Event {
	if event, ok := streamErrors[kind]; ok {
		if event.Object != nil {
			event.Object = event.Object.DeepCopyObject()
		}
		return []watch.Event{event}
	}
	switch {
	case kind == faultOldBookmark && w.initial == nil:
		old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: formatVersion(1)}}
		return []watch.Event{{Type: watch.Bookmark, Object: old}}
	case len(w.sent) == 0 || w.initial != nil:
		return nil
	}
	again := w.sent[0]
	if kind == faultDuplicate {
		again = w.sent[len(w.sent)-1]
	}
	return []watch.Event{{Type: again.Type, Object: again.Object.DeepCopyObject()}}
}

// noteInitial records the end of the initial events of a WatchList.
func (w *gatedWatch) noteInitial(event watch.Event) {
	obj, ok := event.Object.(*corev1.ConfigMap)
	if w.initial == nil || !ok || event.Type != watch.Bookmark {
		return
	}
	if _, ends := obj.Annotations[metav1.InitialEventsAnnotationKey]; ends {
		w.server.lists.send(*w.initial, &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: obj.ResourceVersion}})
		w.initial = nil
	}
}
