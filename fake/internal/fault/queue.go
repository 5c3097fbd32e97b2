// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"net/http"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Request describes the request whose fault is chosen. Package fake documents its fields.
type Request struct {
	Verb string
	schema.GroupVersionResource
	Namespace, Name, Subresource string
	HTTP                         *http.Request
}

// Queue holds the injected faults that are not used up, oldest first. Its methods are safe for
// concurrent use.
type Queue struct {
	mu      sync.Mutex // guards pending
	pending []pendingFault
}

type pendingFault struct {
	remaining int // requests; negative if unlimited
	match     func(Request) bool
	fault     Fault
}

// Add adds a fault of the next n requests that match. A negative n means all further ones, until
// Clear. It panics if the fault's ResourceVersion is invalid.
func (q *Queue) Add(n int, match func(Request) bool, fault Fault) {
	if fault.ResourceVersion != "" {
		if _, err := history.ParseVersion(fault.ResourceVersion); err != nil {
			panic("fake: inject fault: " + err.Error())
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if n != 0 {
		q.pending = append(q.pending, pendingFault{n, match, fault})
	}
}

// Take returns the first fault that applies to request and removes it if this was its last use.
// Without any, it returns the zero Fault.
func (q *Queue) Take(request Request) Fault {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.pending, func(p pendingFault) bool { return p.match(request) })
	if i < 0 {
		return Fault{}
	}
	p := &q.pending[i]
	fault := p.fault
	if p.remaining > 0 {
		p.remaining--
	}
	if p.remaining == 0 {
		q.pending = slices.Delete(q.pending, i, i+1)
	}
	return fault
}

// Clear removes all faults.
func (q *Queue) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pending = nil
}
