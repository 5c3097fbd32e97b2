// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package errlog

import (
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	// recoveriesPeriod is the time in which at most maxRecoveries are logged.
	recoveriesPeriod = 5 * time.Minute
	// maxRecoveries is small, so that a server that works and fails by turns counts as one that
	// fails.
	maxRecoveries = 3
)

// Requests limits the lines about failed requests and recoveries. It is safe for concurrent use.
// The zero value is ready to use.
type Requests struct {
	logged Repeats

	mu             sync.Mutex // guards the fields below
	failing        bool       // a failed attempt was logged, and no recovery since
	recoveries     int        // logged since recoveriesFrom
	recoveriesFrom time.Time
}

// IsNew reports whether no error with this text was logged within repeatAfter. If so, the caller
// must log the error. Errors with one cause may differ in digits alone: those of timeouts in URLs,
// local ports and resourceVersions. IsNew ignores digits.
func (r *Requests) IsNew(text string, now time.Time) bool {
	return r.logged.IsNew(withoutDigits(text), now)
}

// Failed records that a failed attempt was logged, whose end is a recovery.
func (r *Requests) Failed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = true
}

// Recovered reports whether a recovery must be logged: a failed attempt was, since the last
// recovery. The next failure is new then.
func (r *Requests) Recovered(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.recoveriesFrom) >= recoveriesPeriod {
		r.recoveries, r.recoveriesFrom = 0, now
	}
	if !r.failing || r.recoveries == maxRecoveries {
		return false
	}
	r.recoveries++
	r.failing = false
	r.logged.Forget()
	return true
}

// withoutDigits returns a text without its digits.
func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text)
}
