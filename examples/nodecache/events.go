// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/terminal"
)

// viewHandler is the informer's handler. It shows each change in a view.
type viewHandler struct{ view terminal.View }

// OnEvent implements cache.EventHandler.
func (h viewHandler) OnEvent(event cache.Event[*corev1.Node]) {
	h.view.Record(terminal.Event{
		Type:          event.Type,
		Key:           event.Object().Name,
		Text:          eventText(event),
		InInitialList: event.InInitialList,
	})
}

// eventText describes a node that was added, or the change of one that was updated.
func eventText(event cache.Event[*corev1.Node]) string {
	if event.Type == cache.EventUpdate {
		return changesText(event.Old, event.New)
	}
	node := event.Object()
	return fmt.Sprintf("%s, %s, %s", statusText(node), versionText(node), labelsText(node))
}
