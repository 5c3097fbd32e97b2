// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"strings"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/terminal"
)

// shownColumn is a column of the table: a cell of the row, or the namespace.
type shownColumn struct {
	header string
	cell   int
}

// namespaceCell stands for the namespace, which is not a cell.
const namespaceCell = -1

// shownColumns returns the columns to show. Those with a priority are for wide output.
func (w *watcher) shownColumns() (shown []shownColumn) {
	if w.resource.Namespaced && w.namespace == "" {
		shown = append(shown, shownColumn{"NAMESPACE", namespaceCell})
	}
	for i, column := range w.tables.columns.get() {
		if column.Priority == 0 || w.wide {
			shown = append(shown, shownColumn{strings.ToUpper(column.Name), i})
		}
	}
	return shown
}

func headers(shown []shownColumn) (texts []string) {
	for _, column := range shown {
		texts = append(texts, column.header)
	}
	return texts
}

// ageColumn is the header of the age, which the server computes for the time of its answer.
const ageColumn = "AGE"

// cellsOf returns the cells of a row at a time.
func cellsOf(r *row, shown []shownColumn, now time.Time) (texts []string) {
	for _, column := range shown {
		switch {
		case column.cell == namespaceCell:
			texts = append(texts, r.Namespace)
		case column.header == ageColumn && !r.CreationTimestamp.IsZero():
			texts = append(texts, terminal.Age(r.CreationTimestamp.Time, now))
		case column.cell < len(r.cells):
			texts = append(texts, r.cells[column.cell])
		default: // the server has changed the columns
			texts = append(texts, "")
		}
	}
	return texts
}

// event returns an event as the view shows it.
func (w *watcher) event(event cache.Event[*row]) terminal.Event {
	return terminal.Event{
		Type:          event.Type,
		Key:           w.name(event.Object()),
		Text:          eventText(event, w.shownColumns()),
		InInitialList: event.InInitialList,
	}
}

// eventText describes an object that was added, or the change of one that was updated: without
// namespace, name and age.
func eventText(event cache.Event[*row], shown []shownColumn) string {
	var texts []string
	for _, column := range shown {
		if column.cell == namespaceCell || column.header == ageColumn || column.header == "NAME" {
			continue
		}
		only := []shownColumn{column}
		after := cellsOf(event.Object(), only, time.Time{})[0]
		if event.Type != cache.EventUpdate {
			texts = append(texts, after)
		} else if before := cellsOf(event.Old, only, time.Time{})[0]; before != after {
			texts = append(texts, fmt.Sprintf("%s %s -> %s", column.header, before, after))
		}
	}
	if len(texts) == 0 && event.Type == cache.EventUpdate {
		return "no change in the columns shown"
	}
	return strings.Join(texts, ", ")
}

// name returns the name of an object for the view, with its namespace unless all have the same.
func (w *watcher) name(r *row) string {
	if w.resource.Namespaced && w.namespace == "" {
		return r.Namespace + "/" + r.Name
	}
	return r.Name
}
