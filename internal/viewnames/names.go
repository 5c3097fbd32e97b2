// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package viewnames gives informers and handlers of equal names different ones, by which monitoring
// can tell them apart: the first is "pods", the next "pods#2".
package viewnames

import (
	"strconv"
	"strings"
	"sync"
	"weak"
)

// Free returns name or, if that is taken, the first of name#2, name#3 and so on that is not. The
// result is not empty, and valid UTF-8, as labels of metrics must be.
func Free(name string, taken func(string) bool) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if name == "" {
		name = "unnamed"
	}
	free := name
	for n := 2; taken(free); n++ {
		free = name + "#" + strconv.Itoa(n)
	}
	return free
}

// Owner is one of those that have a name in the process. Its methods are safe for concurrent use.
type Owner struct {
	ended func() bool
	name  string // guarded by process.mu
}

// NewOwner returns an owner without a name. Once ended reports true, another owner may get its
// name. ended must not call methods of an owner.
func NewOwner(ended func() bool) *Owner { return &Owner{ended: ended} }

// Name returns the owner's name. The first call decides it: it is name, or name#2 and so on if
// another owner has that one. The owner keeps it until it has ended or is garbage.
func (o *Owner) Name(name string) string {
	process.mu.Lock()
	defer process.mu.Unlock()
	if o.name == "" {
		process.give(o, name)
	}
	return o.name
}

// process has the owners of the process.
var process = table{owners: make(map[string]weak.Pointer[Owner])} //nolint:gochecknoglobals // names are unique in a process

type table struct {
	mu      sync.Mutex // guards the fields below
	owners  map[string]weak.Pointer[Owner]
	sweepAt int // the length of owners at which those that have ended are removed
}

// give gives an owner its name.
func (t *table) give(o *Owner, name string) {
	if len(t.owners) >= t.sweepAt {
		t.sweep()
	}
	o.name = Free(name, t.taken)
	t.owners[o.name] = weak.Make(o)
}

func (t *table) taken(name string) bool {
	owner := t.owners[name].Value()
	return owner != nil && !owner.ended()
}

func (t *table) sweep() {
	for name := range t.owners {
		if !t.taken(name) {
			delete(t.owners, name)
		}
	}
	t.sweepAt = 2*len(t.owners) + 16
}
