// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package errlog

import (
	"errors"
	"regexp"
	"sync"
	"time"
)

const (
	// linePeriod is the least time between two lines about a cause that several informers have.
	linePeriod = time.Minute
	// failingFor is how long an informer counts among those that have a cause. It is longer than
	// the time between two attempts: a delay of 30 s, and a request that takes as long to fail.
	failingFor = 2 * time.Minute
	// maxCauses is the number of causes that a Causes remembers. It forgets all of them before it
	// adds one more.
	maxCauses = 1000
)

var (
	// urlPath matches a quoted URL. Its group is what precedes the path.
	urlPath = regexp.MustCompile(`"(\w+://[^/?"]+)[^"]*"`)
	// resource matches what client-go appends to an answer of the server, such as " (get pods)".
	resource = regexp.MustCompile(` \(get [^ ()]+\)`)
)

// Cause returns the text of an error without what differs between the informers of a server: the
// path of the URL, and the resource that client-go appends to an answer of the server.
func Cause(text string) string {
	return resource.ReplaceAllString(urlPath.ReplaceAllString(text, `"$1"`), "")
}

// CauseOf returns the Cause of an error's text. If the error has a method Cause, as that of a scope
// has, it is of the text that this returns, which the errors of all scopes have in common.
func CauseOf(err error) string {
	if ofScope, ok := errors.AsType[interface {
		error
		Cause() string
	}](err); ok {
		return Cause(ofScope.Cause())
	}
	return Cause(err.Error())
}

// Process has the causes of all informers of the process. A stopped informer leaves nothing in it.
var Process Causes //nolint:gochecknoglobals // informers that a program makes one by one have nothing else in common

// Causes limits the lines about a cause that several informers have: the first of them is logged,
// and then one line a minute with their number. It is safe for concurrent use. The zero value is
// ready to use. It has no timer: an error of an informer that is logged later has the number.
type Causes struct {
	mu    sync.Mutex // guards known
	known map[string]*cause
}

type cause struct {
	loggedAt time.Time
	failedAt map[any]time.Time // the last error of each informer
}

// Add adds an error of an informer, which is a pointer. If the caller must log the error now, Add
// returns the number of informers that have had its cause lately, and otherwise 0: another informer
// has the cause, too, and it was logged within a minute; or isNew reports false. Add calls isNew if
// the error is to be logged otherwise; isNew must not call a method of c. Causes that differ in
// digits outside of URLs are one.
func (c *Causes) Add(informer any, causeText string, now time.Time, isNew func() bool) (informers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.find(urlPath.FindString(causeText) + withoutDigits(causeText))
	known.failedAt[informer] = now
	for other, at := range known.failedAt {
		if !isWithin(failingFor, at, now) {
			delete(known.failedAt, other)
		}
	}
	informers = len(known.failedAt)
	if informers > 1 && isWithin(linePeriod, known.loggedAt, now) || !isNew() {
		return 0
	}
	known.loggedAt = now
	return informers
}

// find returns the cause with a text. The caller holds mu.
func (c *Causes) find(text string) *cause {
	if known := c.known[text]; known != nil {
		return known
	}
	if c.known == nil || len(c.known) >= maxCauses {
		c.known = make(map[string]*cause)
	}
	added := &cause{failedAt: make(map[any]time.Time)}
	c.known[text] = added
	return added
}

// Remove removes an informer that has stopped, and the causes that no other informer has.
func (c *Causes) Remove(informer any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for text, known := range c.known {
		if delete(known.failedAt, informer); len(known.failedAt) == 0 {
			delete(c.known, text)
		}
	}
}

// isWithin reports whether a time is at most d ago. The clocks of informers may differ: a time in
// the future is that of another clock.
func isWithin(d time.Duration, at, now time.Time) bool {
	ago := now.Sub(at)
	return 0 <= ago && ago < d
}
