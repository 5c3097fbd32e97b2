// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/internal/served"
)

// evidenceAge is how long a change of a CustomResourceDefinition explains that a version is missing, and
// how long a document that another one has replaced is known to be older.
const evidenceAge = 2 * time.Minute

// definition is what is known of the CustomResourceDefinition or APIService of a name.
type definition struct {
	exists     bool
	generation int64
	changedAt  time.Time // when the generation changed at last, or it was deleted
	since      int       // the first discovery request since it was created, or changed
	again      bool      // it had existed before
	order      int       // of its creation or deletion, among those of all definitions
}

// evidence is what the server has shown of what it serves. It is not safe for concurrent use.
type evidence struct {
	definitions map[string]*definition // CustomResourceDefinitions, by their names, such as "widgets.example.com"
	apiServices map[string]*definition // of aggregated APIs, by their names, such as "v1.example.com"
	changes     int                    // number of their creations and deletions
	complete    bool                   // both have been listed
	// firstComplete is the first request since then. What its answer lacks, and discovery listed before, may
	// have had a definition that was deleted before the first list.
	firstComplete int
	document      *document              // nil before the first
	since         int                    // the first discovery request since the last change of a definition
	asked         int                    // number of discovery requests, with that in progress
	answered      int                    // the number of the one that document answers
	replaced      map[[32]byte]time.Time // when documents were replaced by others
	groups        map[string]time.Time   // when definitions of a group changed at last
}

func newEvidence() evidence {
	return evidence{definitions: make(map[string]*definition), apiServices: make(map[string]*definition), replaced: make(map[[32]byte]time.Time), groups: make(map[string]time.Time)}
}

// seen records a definition. initial says that it was there at the start.
func (e *evidence) seen(known map[string]*definition, name string, generation int64, initial bool, now time.Time) {
	d := known[name]
	switch {
	case d == nil || !d.exists:
		e.changes++
		d = &definition{exists: true, generation: generation, again: d != nil, order: e.changes}
		if known[name] = d; !initial {
			d.since = e.asked + 1
		}
	case d.generation != generation:
		d.generation, d.changedAt, d.since = generation, now, e.asked+1
	default:
		return
	}
	e.changed(name, now)
}

// deleted records the deletion of a definition.
func (e *evidence) deleted(known map[string]*definition, name string, now time.Time) {
	e.changes++
	known[name] = &definition{changedAt: now, order: e.changes}
	e.changed(name, now)
}

// changed records a change of a definition, after which a document may become again what it was before.
// That of now is older, unless it is that of before an earlier change, which this one may have undone.
func (e *evidence) changed(name string, now time.Time) {
	_, group, _ := strings.Cut(name, ".")
	e.groups[group] = now
	clear(e.replaced)
	e.replace(now)
	e.since = e.asked + 1
}

// replace records that the document is older than the next one, if it was requested after the last change.
func (e *evidence) replace(now time.Time) {
	if e.document != nil && e.answered >= e.since {
		e.replaced[e.document.id] = now
	}
}

// add records the document that a request was answered with. It reports false for a document that
// another one has replaced: it is that of a server that lags behind.
func (e *evidence) add(next *document, request int, now time.Time) bool {
	if e.document != nil && e.document.id != next.id {
		if at, older := e.replaced[next.id]; older && now.Sub(at) < evidenceAge {
			return false
		}
		e.replace(now)
	}
	e.document, e.answered = next, request
	isOver := func(d *definition, listed bool) bool {
		return !d.exists && !listed && now.Sub(d.changedAt) >= evidenceAge // until then, a server may lag behind
	}
	maps.DeleteFunc(e.definitions, func(name string, d *definition) bool { return isOver(d, next.definitions[name]) })
	maps.DeleteFunc(e.apiServices, func(name string, d *definition) bool { return isOver(d, next.apiServices[name]) })
	return true
}

// verdictOn returns the verdict on a resource, and why it is absent. It reports false if there is no
// evidence for another verdict than before.
func (e *evidence) verdictOn(name schema.GroupVersionResource, before served.Outcome, now time.Time) (_ served.Outcome, known bool, why error) {
	absent := func(outcome served.Outcome, why string) (served.Outcome, bool, error) {
		return outcome, true, fmt.Errorf("%s: %w: %s", text(name), served.ErrNotServed, why)
	}
	crd, service := e.definitions[name.Resource+"."+name.Group], e.apiServices[name.Version+"."+name.Group]
	if crd != nil && !crd.exists && service != nil && service.exists && service.order > crd.order && e.document != nil {
		if _, listed, _ := e.document.find(name); listed {
			crd = nil // an aggregated API has taken its place
		}
	}
	switch {
	case crd != nil && !crd.exists:
		return absent(served.Gone, "its CustomResourceDefinition was deleted")
	case crd == nil && service != nil && !service.exists && before != served.Gone:
		return absent(served.NotServed, "its APIService was deleted")
	case crd != nil && before == served.Gone && e.answered < crd.since:
		return absent(served.Unlisted, "its CustomResourceDefinition was created again, and discovery was not asked since")
	case e.document == nil, crd != nil && crd.again && e.answered < crd.since, crd == nil && service != nil && e.answered < service.since:
		return before, false, nil // the document may be of an earlier definition
	}
	_, listed, isCurrent := e.document.find(name)
	switch {
	case listed:
		return served.Served, true, nil
	case (before == served.Pending || before == served.Unknown) && e.complete && !e.document.stale[name.GroupVersion()]:
		if crd != nil {
			return absent(served.Unlisted, "discovery does not list it")
		}
		return absent(served.NotServed, "discovery does not list it")
	case before == served.Pending && e.complete && crd == nil && service != nil && !e.document.isPartial && e.document.stale[name.GroupVersion()]:
		return served.Unknown, true, nil // it may answer, and its error is in the informer's status otherwise
	case before == served.Served && crd == nil && service == nil && e.answered == e.firstComplete && !e.document.stale[name.GroupVersion()]:
		return absent(served.NotServed, "discovery does not list it any more, and it has no CustomResourceDefinition")
	case (before == served.Served || before == served.Unlisted) && crd != nil && isCurrent && e.answered >= crd.since && !crd.changedAt.IsZero() && now.Sub(crd.changedAt) < evidenceAge:
		return absent(served.NotServed, "its CustomResourceDefinition does not serve the version any more")
	}
	return before, false, nil
}

// text describes a resource.
func text(name schema.GroupVersionResource) string {
	return name.Resource + " of " + name.GroupVersion().String()
}
