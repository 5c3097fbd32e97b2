// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// failingWrites are writes of a store with the object a@1, each with a failure that is reported, by
// name.
var failingWrites = map[string]func(*harness){
	"event":            func(h *harness) { h.apply(watch.Modified, obj("a/1@2").with("decode")) },
	"deletion":         func(h *harness) { h.apply(watch.Deleted, obj("a/1@2").with("decode")) },
	"event's index":    func(h *harness) { h.apply(watch.Modified, obj("a/1@2").with("index")) },
	"list":             func(h *harness) { h.relist("2", obj("a/1@2").with("decode")) },
	"list's index":     func(h *harness) { h.relist("2", obj("a/1@2").with("index")) },
	"Put":              func(h *harness) { _ = h.Put(obj("a/1@2").with("index")) },
	"Replace":          func(h *harness) { _ = h.Replace([]any{obj("a/1@2").with("index")}, "2") },
	"AddIndexers":      func(h *harness) { _ = h.AddIndexers(failingIndexers) },
	"unreadable entry": func(h *harness) { h.corrupt("a"); h.Get("a") },
	"AddIndexers with an unreadable entry": func(h *harness) {
		h.corrupt("a")
		_ = h.AddIndexers(failingIndexers)
	},
	"list after AddIndexers": func(h *harness) {
		next := h.Begin()
		next.Add(obj("a/1@2").item())
		_ = h.AddIndexers(failingIndexers)
		h.reported()
		next.Commit("2")
	},
}

var failingIndexers = map[string]IndexFunc{"fails": func(any) ([]string, error) { return nil, errInjected }}

// Report may write to the store: it is called with no lock held.
func TestReportMayWriteToTheStore(t *testing.T) {
	for name, write := range failingWrites {
		t.Run(name, func(t *testing.T) {
			var h *harness
			h = newHarness(packing, func(c *Config) {
				c.Report = func(key string, err error) {
					h.report(key, err)
					if !h.writer.TryLock() {
						t.Fatalf("the writer's lock is held while %v is reported", err)
					}
					h.writer.Unlock()
					if key != "a" {
						return
					}
					if err := h.Put(obj("written/1@1")); err != nil {
						t.Error(err)
					}
					if _, ok := h.Get("written"); !ok {
						t.Error("the store lacks the object that the report wrote")
					}
				}
			})
			h.relist("1", obj("a/1@1"))
			write(h)
			if got := h.reported(); len(got) == 0 || !strings.HasPrefix(got[0], "a: ") {
				t.Fatalf("reported %q, want a failure of a", got)
			}
		})
	}
}

// The errors of one write are reported in the order in which they occurred, after the write.
func TestReportsFollowTheWriteInOrder(t *testing.T) {
	var h *harness
	var stored []string
	h = newHarness(func(c *Config) {
		c.Indexers = nil
		c.Report = func(key string, err error) {
			h.report(key, err)
			stored = append(stored, contents(h.Snapshot())...)
		}
	})
	h.relist("1", obj("a/1@1"))
	_ = h.AddIndexers(map[string]IndexFunc{"1": failingIndexers["fails"], "2": failingIndexers["fails"]})
	_ = h.Put(obj("a/1@2"))
	want := []string{"a: index \"1\": " + errInjected.Error(), "a: index \"2\": " + errInjected.Error()}
	if got := h.reported(); !slices.Equal(got, slices.Concat(want, want)) {
		t.Errorf("reported %q, want %q twice", got, want)
	}
	if want := []string{"a/1@1", "a/1@1", "a/1@2", "a/1@2"}; !slices.Equal(stored, want) {
		t.Errorf("the store held %q when the errors were reported, want %q", stored, want)
	}
}
