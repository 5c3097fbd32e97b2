// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate/internal/canonical"
)

// World is what Setup and the Steps of a test act on: the API server, as its users see it, and the
// clock. A method whose request fails ends the run, and the test fails. Its methods must be called
// by Setup and Steps alone, in their goroutine.
type World struct{ scheduler *scheduler }

// stepFailed ends Steps by a panic.
type stepFailed struct{ cause error }

// write does a write that must succeed, of the object that build returns, which webhooks may
// change.
func (w *World) write(verb string, obj fake.Object, build func(fake.Object) (fake.Object, error), do func(fake.Object) error) {
	s := w.scheduler
	err := s.outsideWrite("steps", verb, obj)
	if err == nil {
		began := time.Now()
		var admitted fake.Object
		for admitted == nil && err == nil {
			admitted, err = s.admitted(userOfSteps, verb, func() (fake.Object, error) { return build(obj) })
			if err != nil {
				err = s.retry(err, began)
			}
		}
		if err == nil {
			err = do(admitted)
		}
	}
	if errors.Is(err, errRunFailed) {
		panic(stepFailed{})
	}
	if err != nil {
		panic(stepFailed{fmt.Errorf("%s %s: %w", verb, describe(obj), err)})
	}
	s.steps = append(s.steps, s.server.ResourceVersion())
	s.record.note("steps", fmt.Sprintf("%s %s at version %s", verb, describe(obj), s.server.ResourceVersion()))
}

func unchanged(obj fake.Object) (fake.Object, error) { return obj, nil }

// Create creates an object, with its status. The argument is not changed.
func (w *World) Create(obj fake.Object) {
	w.write("create", obj, unchanged, w.scheduler.create)
}

// Update sets the spec, and all other fields but the status, of an object to those of obj. Labels,
// annotations, finalizers and owner references stay as they are if obj has none. A resourceVersion
// of obj is ignored. The argument is not changed.
func (w *World) Update(obj fake.Object) {
	w.write("update", obj, w.scheduler.merged, w.scheduler.server.Update)
}

// Delete deletes an object as a user does: one with finalizers stays until they are removed. Only
// the kind, namespace and name of obj are used.
func (w *World) Delete(obj fake.Object) {
	w.write("delete", obj, unchanged, w.scheduler.delete)
}

// Get sets obj to the stored object of its namespace and name. It reports whether there is one.
func (w *World) Get(obj fake.Object) bool {
	return w.scheduler.server.Get(obj) == nil
}

// State returns all objects.
func (w *World) State() State { return w.scheduler.state() }

// Sleep lets the program run for a time of the bubble's clock.
func (w *World) Sleep(d time.Duration) {
	end := time.Now().Add(d)
	w.scheduler.runUntil(func() time.Time { return end })
	w.stopIfFailed()
}

// Settle lets the program run until it is at rest: until no write has changed anything for
// Test.Rest. The state is compared with that of the undisturbed run.
func (w *World) Settle() {
	w.scheduler.record.note("steps", "settle")
	w.scheduler.settle()
	w.stopIfFailed()
}

// settle runs until the program is at rest, and records the state.
func (s *scheduler) settle() {
	s.rest.settling()
	s.runUntil(func() time.Time {
		if s.rest.overdue() {
			s.record.fail(Rest, "the program does not come to rest: it has written within each %v for %v\n%s"+
				"If it writes on a timer, set a Rest that is shorter than the timer's period, or ignore the field.",
				s.rest.period, time.Since(s.rest.began), s.rest.repeated())
			return time.Now()
		}
		if until := s.staleness.until(); until.After(s.rest.lastChange) {
			return until.Add(s.rest.period)
		}
		return s.rest.deadline()
	})
	s.checkRefusals()
	s.checkWebhooks()
	if s.record.failed() {
		return
	}
	state, err := canonical.Of(s.objects(), s.test.ignored)
	if err != nil {
		s.record.fail(oracleSteps, "compare the state: %v", err)
		return
	}
	s.record.states = append(s.record.states, state)
	s.record.note("steps", fmt.Sprintf("at rest (settle %d)", len(s.record.states)))
}

// stopIfFailed ends Steps if the run has failed.
func (w *World) stopIfFailed() {
	if w.scheduler.record.failed() {
		panic(stepFailed{})
	}
}
