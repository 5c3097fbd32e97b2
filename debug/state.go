// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/errlog"
	"github.com/kinformer/kinformer/internal/units"
)

// level is how well an informer does. Its values are also CSS classes.
type level string

const (
	levelError   level = "error"   // it does not work
	levelWarning level = "warning" // it works, but something needs attention
	levelBusy    level = "busy"    // it works on its first state, or opens a watch
	levelOff     level = "off"     // it does not run
	levelOK      level = "ok"      // it watches
)

const (
	// staleAfter is the age of the last confirmation that is a warning. API servers confirm a quiet
	// collection about once a minute.
	staleAfter = 5 * time.Minute
	// lateAfter is the age of a handler's oldest pending event that is a warning.
	lateAfter = 10 * time.Second
)

// Level returns how well the informer does.
func (i informer) Level() level {
	switch {
	case i.Phase == cache.PhaseIdle || i.Phase == cache.PhaseStopped || i.Phase == cache.PhaseNotServed:
		return levelOff
	case i.Phase == cache.PhaseInvalid || i.Error != "":
		return levelError
	case len(i.Troubles) > 0:
		return levelWarning
	case !i.Synced || i.Phase != cache.PhaseWatching:
		return levelBusy
	}
	return levelOK
}

// State returns the phase and, if it is not obvious, whether the informer has synced and what needs
// attention.
func (i informer) State() string {
	state := string(i.Phase)
	switch {
	case i.Phase == cache.PhaseListing && i.ReceivedObjects > 0:
		state += ", " + units.Plural(i.ReceivedObjects, "object") + " received"
	case !i.Synced && i.Phase != cache.PhaseIdle && i.Phase != cache.PhaseInvalid && i.Phase != cache.PhaseNotServed:
		state += ", not synced"
	}
	if i.Level() == levelWarning {
		state += ", " + units.Plural(len(i.Troubles), "warning")
	}
	return state
}

// trouble is a reason for attention, of one informer or of several.
type trouble struct {
	Level     level
	Text      string
	Informers []informer

	age   time.Duration // the longest
	count uint64        // of all informers
	noun  string
}

// troubles returns what needs attention.
func (i informer) troubles(s cache.Status) (all []trouble) {
	add := func(level level, text string, age time.Duration, count uint64, noun string) {
		all = append(all, trouble{Level: level, Text: text, age: age, count: count, noun: noun})
	}
	if s.Err != nil && s.Phase != cache.PhaseNotServed {
		age := i.Now.Sub(cmp.Or(i.ErrorSince, i.Now))
		add(levelError, errlog.Cause(s.Err.Error()), age, uint64(s.FailedAttempts), "attempt")
	}
	if len(s.Store.QuarantinedKeys) > 0 {
		add(levelWarning, s.Store.QuarantinedKeys[0].Err.Error(), 0, uint64(s.Store.Quarantined), "object")
	}
	if s.Store.Unnamed > 0 {
		add(levelWarning, "objects without a readable name are not stored", 0, uint64(s.Store.Unnamed), "object")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Store.IndexErrors)) {
		add(levelWarning, fmt.Sprintf("the function of index %q failed: ByIndex does not find such objects", name), 0, s.Store.IndexErrors[name], "failure")
	}
	if s.Freshness.Staleness >= staleAfter && s.Phase != cache.PhaseStopped {
		add(levelWarning, "not confirmed up to date", s.Freshness.Staleness, 0, "")
	}
	for n, h := range s.Handlers {
		switch {
		case h.CurrentFor >= lateAfter:
			add(levelWarning, fmt.Sprintf("handler %s: the call for %q has not returned", h.UniqueName, h.CurrentKey), h.CurrentFor, h.Backlog, "event")
		case i.Handlers[n].Late:
			add(levelWarning, "handler "+h.UniqueName+" is behind", h.Lag, h.Backlog, "event")
		}
	}
	if len(s.Store.OmitFieldsNotFound) > 0 {
		add(levelWarning, "OmitFields that no object has: "+strings.Join(s.Store.OmitFieldsNotFound, ", "), 0, 0, "")
	}
	return all
}

// Detail returns for how long there has been the trouble, and how often, or an empty text.
func (t trouble) Detail() string {
	var details []string
	if t.age > 0 && len(t.Informers) > 1 {
		details = append(details, "for up to "+duration(t.age))
	} else if t.age > 0 {
		details = append(details, "for "+duration(t.age))
	}
	if t.count > 0 {
		details = append(details, units.Plural(t.count, t.noun))
	}
	return strings.Join(details, ", ")
}

// Troubles returns what needs attention, errors first. Equal troubles are one.
func (o overview) Troubles() (all []trouble) {
	type key struct {
		level level
		text  string
	}
	at := map[key]int{}
	for _, i := range o.Informers {
		for _, t := range i.Troubles {
			n, known := at[key{t.Level, t.Text}]
			if !known {
				n = len(all)
				at[key{t.Level, t.Text}] = n
				all = append(all, trouble{Level: t.Level, Text: t.Text, noun: t.noun})
			}
			all[n].Informers = append(all[n].Informers, i)
			all[n].age = max(all[n].age, t.age)
			all[n].count += t.count
		}
	}
	slices.SortStableFunc(all, func(a, b trouble) int { return cmp.Compare(a.Level, b.Level) }) // "error", "warning"
	return all
}

// Rows returns the informers that match the filter, those that need attention first.
func (o overview) Rows() []informer {
	rows := slices.DeleteFunc(slices.Clone(o.Informers), func(i informer) bool {
		text := strings.Join([]string{i.UniqueName, i.Kind, i.State(), i.Error}, "\n")
		return !strings.Contains(strings.ToLower(text), strings.ToLower(o.Filter))
	})
	order := []level{levelError, levelWarning, levelBusy, levelOff, levelOK}
	slices.SortStableFunc(rows, func(a, b informer) int {
		return cmp.Compare(slices.Index(order, a.Level()), slices.Index(order, b.Level()))
	})
	return rows
}

// Summary counts the informers by phase, and adds up their objects and events.
func (o overview) Summary() string {
	phases, objects, events := map[cache.Phase]uint64{}, 0, 0.0
	for _, i := range o.Informers {
		phases[i.Phase]++
		objects += i.Objects
		events += i.EventsPerSecond
	}
	texts := []string{units.Plural(len(o.Informers), "informer")}
	for _, phase := range slices.Sorted(maps.Keys(phases)) {
		texts = append(texts, fmt.Sprintf("%d %s", phases[phase], phase))
	}
	return fmt.Sprintf("%s · %s · %s events/s", strings.Join(texts, ", "), units.Plural(objects, "object"), rate(events))
}

// Requested returns the numbers of lists and watches in words.
func (i informer) Requested() string {
	watches := units.Count(i.Watches) + " watches"
	if i.Watches == 1 {
		watches = "1 watch"
	}
	if i.WatchRestarts > 0 {
		watches += ", of which " + units.Count(i.WatchRestarts) + " resumed an earlier one"
	}
	return units.Plural(i.Lists, "list") + ", " + watches
}

// RelistReasons returns the reasons for relists with their numbers, the most frequent first.
func (i informer) RelistReasons() string {
	var texts []string
	for _, reason := range slices.SortedFunc(maps.Keys(i.Relists), func(a, b string) int {
		return cmp.Or(cmp.Compare(i.Relists[b], i.Relists[a]), cmp.Compare(a, b))
	}) {
		texts = append(texts, units.Count(i.Relists[reason])+" "+reason)
	}
	return strings.Join(texts, ", ")
}
