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

// evidenceAge is how long a change of a CustomResourceDefinition explains that a version is
// missing, and how long a document that another one has replaced is known to be older.
const evidenceAge = 2 * time.Minute

// definition is what is known of the CustomResourceDefinition or APIService of a name.
type definition struct {
	exists     bool
	generation int64
	changedAt  time.Time // when the generation changed at last, or it was deleted
	since      int       // the first discovery request since it was created, or changed
	again      bool      // it had existed before
	order      int       // of its creation or deletion, among the changes of all definitions
	labelled   bool      // it has the label automanaged
}

// evidence is what the server has shown of what it serves. It is not safe for concurrent use.
type evidence struct {
	definitions map[string]*definition // CustomResourceDefinitions, by their names, such as "widgets.example.com"
	apiServices map[string]*definition // of aggregated APIs, by their names, such as "v1.example.com"
	changes     int                    // number of their changes
	// complete is the first discovery request since both have been listed, zero before. What its
	// answer lacks, and discovery listed before, may have had a definition that was deleted before
	// the first list.
	complete int
	document *document              // empty before the first
	since    int                    // the first discovery request since the last change of a definition
	asked    int                    // number of discovery requests, with that in progress
	answered int                    // the number of the one that document answers
	replaced map[[32]byte]time.Time // when documents were replaced by others
	groups   map[string]time.Time   // when definitions of a group changed at last
}

func newEvidence() evidence {
	return evidence{
		definitions: make(map[string]*definition), apiServices: make(map[string]*definition),
		document: &document{}, replaced: make(map[[32]byte]time.Time), groups: make(map[string]time.Time),
	}
}

// seen records a definition. initial says that it was there at the start.
func (e *evidence) seen(known map[string]*definition, name string, generation int64, initial bool, now time.Time) {
	d := known[name]
	switch {
	case d == nil || !d.exists:
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
	known[name] = &definition{changedAt: now, order: e.changes}
	e.changed(name, now)
}

// changed records a change of a definition, after which a document may become again what it was
// before. That of now is older, unless it is that of before an earlier change, which this one may
// have undone.
func (e *evidence) changed(name string, now time.Time) {
	_, group, _ := strings.Cut(name, ".")
	e.groups[group] = now
	e.changes++
	clear(e.replaced)
	e.replace(now)
	e.since = e.asked + 1
}

// replace records that the document is older than the next one, if it was requested after the last
// change.
func (e *evidence) replace(now time.Time) {
	if e.answered >= e.since {
		e.replaced[e.document.id] = now
	}
}

// add records the document that the last request was answered with, unless another one has replaced
// it: it is that of a server that lags behind.
func (e *evidence) add(next *document, now time.Time) {
	if e.document.id != next.id {
		if at, older := e.replaced[next.id]; older && now.Sub(at) < evidenceAge {
			return
		}
		e.replace(now)
	}
	e.document, e.answered = next, e.asked
	isOver := func(name string, d *definition) bool {
		return !d.exists && !next.names[name] && now.Sub(d.changedAt) >= evidenceAge // until then, a server may lag behind
	}
	maps.DeleteFunc(e.definitions, isOver)
	maps.DeleteFunc(e.apiServices, isOver)
	maps.DeleteFunc(e.groups, func(_ string, at time.Time) bool { return now.Sub(at) >= evidenceAge })
}

// resources returns the resources that the document lists, with CustomResource set.
func (e *evidence) resources() []Resource {
	all := make([]Resource, 0, len(e.document.resources))
	for _, listed := range e.document.resources {
		resource := *listed
		resource.CustomResource = e.isCustom(resource.GroupVersionResource)
		all = append(all, resource)
	}
	return all
}

// isCustom reports whether a CustomResourceDefinition serves a resource that the document lists. A
// definition that was deleted counts: the document is of an earlier state, and a Select that
// requires CustomResource must not end the informer before the objects are known to be gone.
func (e *evidence) isCustom(name schema.GroupVersionResource) bool {
	crd, service := e.definitions[name.Resource+"."+name.Group], e.apiServices[name.Version+"."+name.Group]
	isAggregated := service != nil && service.exists && !service.labelled
	return e.complete > 0 && crd != nil && !isAggregated
}

// verdictOn returns the verdict on a resource, and why it is or may be absent: those of before if
// there is no evidence for another verdict.
func (e *evidence) verdictOn(name schema.GroupVersionResource, before served.Verdict, now time.Time) (_ served.Outcome, why error) {
	because := func(outcome served.Outcome, why string) (served.Outcome, error) {
		return outcome, fmt.Errorf("%s: %w: %s", text(name), served.ErrNotServed, why)
	}
	was := before.Outcome
	crd, service := e.definitions[name.Resource+"."+name.Group], e.apiServices[name.Version+"."+name.Group]
	isListed := e.document.listed[name] != nil
	if isListed && crd != nil && !crd.exists && service != nil && service.exists && service.order > crd.order {
		crd = nil // an aggregated API has taken its place
	}
	switch {
	case crd != nil && !crd.exists:
		return because(served.Gone, "its CustomResourceDefinition was deleted")
	case crd == nil && service != nil && !service.exists && was != served.Gone:
		return because(served.NotServed, "its APIService was deleted")
	case crd != nil && was == served.Gone && e.answered < crd.since:
		return because(served.Unlisted, "its CustomResourceDefinition was created again, and discovery was not asked since")
	case e.answered == 0, crd != nil && crd.again && e.answered < crd.since, crd == nil && service != nil && e.answered < service.since:
		return was, before.Err // the document may be of an earlier definition
	}
	isNew := (was == served.Pending || was == served.Unknown) && e.complete > 0
	isStale := e.document.stale[name.GroupVersion()]
	switch {
	case isListed:
		return served.Served, nil
	case isNew && !isStale && crd != nil:
		return because(served.Unlisted, "discovery does not list it")
	case isNew && !isStale:
		return because(served.NotServed, "discovery does not list it")
	case isNew && crd == nil && service != nil && !e.document.isPartial:
		return because(served.Unknown, "its aggregated API does not answer") // unless the informer gets an answer
	case was == served.Served && crd == nil && service == nil && e.answered == e.complete && !isStale:
		return because(served.NotServed, "discovery does not list it any more, and it has no CustomResourceDefinition")
	case (was == served.Served || was == served.Unlisted) && crd != nil && e.document.groups[name.Group] &&
		e.answered >= crd.since && !crd.changedAt.IsZero() && now.Sub(crd.changedAt) < evidenceAge:
		return because(served.NotServed, "its CustomResourceDefinition does not serve the version any more")
	}
	return was, before.Err
}

// text describes a resource.
func text(name schema.GroupVersionResource) string {
	return name.Resource + " of " + name.GroupVersion().String()
}
