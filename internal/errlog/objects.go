// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package errlog

import (
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
)

const (
	// maxLines is the number of errors of each effect that are logged one by one, in each burst.
	maxLines = 10
	// burstEnd is the time after which maxLines errors are logged one by one again: since the first
	// error of the burst or, if it had more than maxLines, since its last one.
	burstEnd = 5 * time.Minute
	// summaryPeriod is how often the number of further errors of an effect is logged.
	summaryPeriod = time.Minute
)

// messages are the log messages. They say which state of the object is stored now.
var messages = map[feed.Effect]string{ //nolint:gochecknoglobals // a constant
	feed.Absent:            "Object not stored",
	feed.LastStateKept:     "Object's newest state not stored, the last good state is kept",
	feed.NotIndexed:        "Object stored, but an index does not find it",
	feed.Unreadable:        "Packed object cannot be decoded, it will be fetched again",
	feed.FinalStateUnknown: "Object deleted, its event has the last known state",
	feed.Duplicate:         "Object listed more than once, the newest version is stored",
}

// fieldsOfStatus name the field of Status that lists, or counts, the objects of an effect.
var fieldsOfStatus = map[feed.Effect]string{ //nolint:gochecknoglobals // a constant
	feed.Absent:        "Status.QuarantinedKeys",
	feed.LastStateKept: "Status.QuarantinedKeys",
	feed.Unreadable:    "Status.QuarantinedKeys",
	feed.NotIndexed:    "Status.IndexErrors",
}

// Objects logs errors on the objects of one informer. It is safe for concurrent use.
type Objects struct {
	clock     clock.PassiveClock
	afterFunc func(d time.Duration, f func()) clock.Timer
	hasStatus bool
	logged    Repeats // errors that were logged one by one, with the object's key

	mu     sync.Mutex // guards bursts; no method of the clock is called under it
	bursts map[feed.Effect]*burst
}

// burst are the errors of one effect.
type burst struct {
	lines   int         // logged one by one
	since   time.Time   // of the first of them, or of the last error that was only counted
	counted int         // number of errors since the last summary that were only counted
	last    objectError // the last of them
	pending bool        // a summary is due within summaryPeriod
}

// objectError is an error on an object, and the logger for it.
type objectError struct {
	logger klog.Logger
	key    string
	err    error
}

// NewObjects returns an Objects. hasStatus says that the informer has a Status with the affected
// objects, so that the log can refer to it.
func NewObjects(c clock.PassiveClock, hasStatus bool) *Objects {
	delayed, ok := c.(clock.WithDelayedExecution)
	if !ok {
		delayed = clock.RealClock{}
	}
	return &Objects{clock: c, afterFunc: delayed.AfterFunc, hasStatus: hasStatus, bursts: make(map[feed.Effect]*burst)}
}

// Log logs an error on an object, or counts it.
func (o *Objects) Log(logger klog.Logger, key string, effect feed.Effect, err error) {
	now, text := o.clock.Now(), string(effect)+" "+key+": "+err.Error()
	if o.logged.Has(text, now) {
		return
	}
	logNow, startTimer := o.add(effect, objectError{logger, key, err}, now)
	if logNow {
		o.logged.IsNew(text, now)
		logger.Error(err, messages[effect], "object", key)
		return
	}
	if startTimer {
		o.afterFunc(summaryPeriod, func() { o.summarize(effect) })
	}
	logger.V(2).Info(messages[effect], "object", key, "err", err)
}

// add adds an error to the burst of its effect. It reports whether the caller must log the error
// now or, otherwise, whether the caller must start a timer for the next summary.
func (o *Objects) add(effect feed.Effect, err objectError, now time.Time) (logNow, startTimer bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.bursts[effect]
	if b == nil {
		b = &burst{}
		o.bursts[effect] = b
	}
	if b.lines == 0 || now.Sub(b.since) >= burstEnd {
		b.lines, b.since = 0, now
	}
	if b.lines < maxLines {
		b.lines++
		return true, false
	}
	startTimer = !b.pending
	b.pending, b.since, b.last = true, now, err
	b.counted++
	return false, startTimer
}

// Flush logs the numbers of the errors that were counted since the last summaries. An informer
// calls it before Run returns.
func (o *Objects) Flush() {
	for effect := range messages {
		o.summarize(effect)
	}
}

// summarize logs the number of the errors of an effect that were counted since the last summary,
// and the last of them.
func (o *Objects) summarize(effect feed.Effect) {
	n, last := o.take(effect)
	if n == 0 {
		return
	}
	values := []any{"effect", effect, "errors", n, "object", last.key}
	if field, ok := fieldsOfStatus[effect]; ok && o.hasStatus {
		values = append(values, "see", field)
	}
	last.logger.Error(last.err, "More errors on objects, which are logged one by one from verbosity 2 on", values...)
}

// take returns the number of counted errors of an effect and the last of them, and resets both.
func (o *Objects) take(effect feed.Effect) (n int, last objectError) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.bursts[effect]
	if b == nil {
		return 0, objectError{}
	}
	n, last = b.counted, b.last
	b.counted, b.last, b.pending = 0, objectError{}, false
	return n, last
}
