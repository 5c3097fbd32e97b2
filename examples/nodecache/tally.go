package main

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// counts are how many events there were.
type counts struct{ added, updated, deleted int }

func (c counts) String() string {
	return fmt.Sprintf("%d added, %d updated, %d deleted", c.added, c.updated, c.deleted)
}

// tally counts events as they come.
type tally struct {
	mu  sync.Mutex // guards now
	now counts
}

// OnEvent counts an event.
func (t *tally) OnEvent(event cache.Event[*corev1.Node]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch event.Type {
	case cache.EventAdd:
		t.now.added++
	case cache.EventUpdate:
		t.now.updated++
	case cache.EventDelete:
		t.now.deleted++
	}
}

func (t *tally) counts() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// eventText says in one line what happened.
func eventText(event cache.Event[*corev1.Node]) string {
	node := event.Object()
	var text string
	switch event.Type {
	case cache.EventAdd:
		text = fmt.Sprintf("added    %s  %s, %s, %s", node.Name, statusText(node), node.Status.NodeInfo.KubeletVersion, labelsText(node))
		if event.InInitialList {
			text += " (initial list)"
		}
	case cache.EventUpdate:
		text = fmt.Sprintf("updated  %s  %s", node.Name, difference(event.Old, event.New))
	case cache.EventDelete:
		text = fmt.Sprintf("deleted  %s", node.Name)
	}
	return clean(text)
}
