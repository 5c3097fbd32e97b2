// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed

import "errors"

// Effect is what an error on one object means for the sink's copy of that object.
type Effect string

// The values of Effect.
const (
	// Absent: the sink does not hold the object.
	Absent Effect = "Absent"
	// LastStateKept: the sink holds the object's last good state instead of its newest.
	LastStateKept Effect = "LastStateKept"
	// NotIndexed: the sink holds the object, and one of its indexes does not find it.
	NotIndexed Effect = "NotIndexed"
	// Unreadable: the sink holds the object's bytes and cannot decode them.
	Unreadable Effect = "Unreadable"
	// FinalStateUnknown: the object is deleted, and its event has the last known state instead of
	// the state at deletion.
	FinalStateUnknown Effect = "FinalStateUnknown"
	// Duplicate: a list has the object more than once, and the sink holds the newest version.
	Duplicate Effect = "Duplicate"
	// NotPacked: the sink packs objects, and holds this one decoded, as all others that it cannot
	// pack.
	NotPacked Effect = "NotPacked"
)

// EffectError is an error on one object with its effect. Its text is that of Err.
type EffectError struct {
	Effect Effect
	Err    error
}

// ErrDuplicate is the cause of a Duplicate.
var ErrDuplicate = errors.New("the list holds the object more than once; the newest version is stored")

// Error returns the text of the cause.
func (e *EffectError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *EffectError) Unwrap() error { return e.Err }

// EffectOf returns the effect of an error on one object, Absent if it has none, and its cause.
func EffectOf(err error) (effect Effect, cause error) {
	if known, ok := errors.AsType[*EffectError](err); ok {
		return known.Effect, known.Err
	}
	return Absent, err
}
