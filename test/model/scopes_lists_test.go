// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/scope"
)

// scopedList is a complete list, or the initial events of a WatchList, that a scopedServer has
// sent.
type scopedList struct {
	options metav1.ListOptions
	writes  int             // of the program into the store, before the list was requested
	keys    map[string]bool // of the objects in the list
	version string
	stored  bool // a watch from the list's version followed, as the informer has stored the list
}

// scopedLists are all lists that a scopedServer has sent, in the order in which they were complete.
type scopedLists struct {
	mu     sync.Mutex // guards the fields below; no other mutex is locked meanwhile
	writes int        // of the program into the store
	begun  map[string]*scopedList
	sent   []*scopedList
}

// selectionOf identifies the selection of a request.
func selectionOf(options metav1.ListOptions) string {
	return options.LabelSelector + "|" + options.FieldSelector + "|" + options.ShardSelector
}

// begin records the request of a list, unless it is one of a further page, or a probe.
func (l *scopedLists) begin(options metav1.ListOptions) {
	if options.Continue != "" || options.Limit == 1 && options.ResourceVersion == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun == nil {
		l.begun = make(map[string]*scopedList)
	}
	l.begun[selectionOf(options)] = &scopedList{options: options, writes: l.writes, keys: make(map[string]bool)}
}

// send records a page, which may be the last one, or the end of initial events.
func (l *scopedLists) send(options metav1.ListOptions, page *corev1.ConfigMapList) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.begun[selectionOf(options)]
	if list == nil {
		return
	}
	for i := range page.Items {
		list.keys[keyOf(&page.Items[i])] = true
	}
	if page.Continue == "" {
		list.version = page.ResourceVersion
		l.sent = append(l.sent, list)
	}
}

// follow records a watch: one from the version of a list shows that the informer has stored the
// list.
func (l *scopedLists) follow(options metav1.ListOptions) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list := l.begun[selectionOf(options)]; list != nil && list.version != "" && list.version == options.ResourceVersion {
		list.stored = true
	}
}

// write records a write of the program, which has ended: lists that begin later must show it.
func (l *scopedLists) write() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
}

// written returns the number of writes of the program.
func (l *scopedLists) written() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes
}

// count returns the number of lists that were sent.
func (l *scopedLists) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sent)
}

// since returns the lists that were sent after the first n.
func (l *scopedLists) since(n int) (lists []scopedList) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, list := range l.sent[n:] {
		lists = append(lists, *list)
	}
	return lists
}

// isOf reports whether the list is one of a scope, alone or with others of other ranges.
func (l scopedList) isOf(s cache.Scope) bool {
	want := requirementsOf(s.FieldSelector)
	if s.Namespace != "" {
		want["metadata.namespace="+s.Namespace] = true
	}
	if l.options.LabelSelector != s.LabelSelector || !maps.Equal(requirementsOf(l.options.FieldSelector), want) {
		return false
	}
	if l.options.ShardSelector == "" {
		return true
	}
	ranges, err := scope.ParseShardSelector(l.options.ShardSelector)
	if err != nil {
		panic(err)
	}
	return slices.ContainsFunc(ranges, func(r scope.Range) bool {
		return r.Field == string(s.Hash.Field) && r.First <= s.Hash.First && s.Hash.Last <= r.Last
	})
}

// requirementsOf returns the requirements of a field selector.
func requirementsOf(selector string) map[string]bool {
	all := make(map[string]bool)
	for _, r := range fields.ParseSelectorOrDie(selector).Requirements() {
		all[r.Field+string(r.Operator)+r.Value] = true
	}
	return all
}
