// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/units"
)

// level is how well an informer does. Its values are also CSS classes and names of shapes.
type level string

const (
	levelOK      level = "ok"      // it watches
	levelBusy    level = "busy"    // it works on its first state, or opens a watch
	levelWarning level = "warning" // it works, but something needs attention
	levelError   level = "error"   // it does not work
	levelOff     level = "off"     // it does not run
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
	case i.Phase == cache.PhaseInvalid || i.Error != "":
		return levelError
	case i.Phase == cache.PhaseIdle || i.Phase == cache.PhaseStopped:
		return levelOff
	case len(i.Warnings()) > 0:
		return levelWarning
	case !i.Synced || i.Phase != cache.PhaseWatching:
		return levelBusy
	}
	return levelOK
}

// State returns the phase and, if it is not obvious, whether the informer has synced.
func (i informer) State() string {
	switch {
	case i.Phase == cache.PhaseListing && i.ReceivedObjects > 0:
		return fmt.Sprintf("%s, %s received", i.Phase, units.Plural(i.ReceivedObjects, "object"))
	case i.Synced || i.Phase == cache.PhaseIdle || i.Phase == cache.PhaseInvalid:
		return string(i.Phase)
	}
	return string(i.Phase) + ", not synced"
}

// Failing returns for how long and how often attempts have failed, or an empty text.
func (i informer) Failing() string {
	if i.ErrorSince.IsZero() || i.FailedAttempts == 0 {
		return ""
	}
	return fmt.Sprintf("for %s, %s", duration(i.now.Sub(i.ErrorSince)), units.Plural(i.FailedAttempts, "attempt"))
}

// Warnings returns what needs attention although the informer works.
func (i informer) Warnings() (warnings []string) {
	add := func(condition bool, format string, args ...any) {
		if condition {
			warnings = append(warnings, fmt.Sprintf(format, args...))
		}
	}
	add(i.Quarantined > 0, "%s quarantined: the newest state could not be stored", units.Plural(i.Quarantined, "object"))
	add(i.Unnamed > 0, "%s without a readable name, not stored", units.Plural(i.Unnamed, "object"))
	stale := i.staleness()
	add(stale >= staleAfter && i.Phase != cache.PhaseStopped, "last confirmed up to date %s ago", duration(stale))
	for _, h := range i.Handlers {
		add(h.Late(), "handler %s is %s behind, %s", shorten(h.UniqueName, maxName), duration(h.lag), units.Plural(h.Backlog, "event"))
	}
	add(len(i.OmitFieldsNotFound) > 0, "OmitFields that no object has: %s", strings.Join(i.OmitFieldsNotFound, ", "))
	return warnings
}

// staleness returns the time since the store was last confirmed up to date, zero if it never was.
func (i informer) staleness() time.Duration {
	if i.StalenessSeconds == nil {
		return 0
	}
	return time.Duration(*i.StalenessSeconds * float64(time.Second))
}

// Late reports whether the handler's backlog is old.
func (h handlerStatus) Late() bool { return h.Backlog > 0 && h.lag >= lateAfter }

// NeedAttention returns the informers with an error, and then those with a warning.
func (o overview) NeedAttention() []informer {
	var failing, warning []informer
	for _, i := range o.Informers {
		switch i.Level() {
		case levelError:
			failing = append(failing, i)
		case levelWarning:
			warning = append(warning, i)
		default:
		}
	}
	return append(failing, warning...)
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

// RelistCount returns how often the informer has relisted.
func (i informer) RelistCount() (n uint64) {
	for _, count := range i.Relists {
		n += count
	}
	return n
}

// RelistReasons returns the reasons for relists with their numbers, the most frequent first.
func (i informer) RelistReasons() string {
	var texts []string
	for _, reason := range slices.SortedFunc(maps.Keys(i.Relists), func(a, b string) int {
		if d := int(i.Relists[b]) - int(i.Relists[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	}) {
		if n := i.Relists[reason]; n > 0 {
			texts = append(texts, fmt.Sprintf("%s %s", units.Count(n), reason))
		}
	}
	return strings.Join(texts, ", ")
}
