// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package errlog_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kinformer/kinformer/internal/errlog"
	"github.com/kinformer/kinformer/internal/feed"
)

var errInvalid = errors.New("invalid")

// lines are those of a log.
type lines struct {
	mu   sync.Mutex
	text []string
}

// logger returns a logger that shows messages up to a verbosity.
func (l *lines) logger(verbosity int) klog.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.text = append(l.text, args)
	}, funcr.Options{Verbosity: verbosity})
}

// take returns the lines since the last call.
func (l *lines) take() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text
	l.text = nil
	return text
}

// count returns the number of lines that contain a text.
func count(lines []string, text string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// logAll logs an error of n objects.
func logAll(objects *errlog.Objects, logger klog.Logger, effect feed.Effect, n int) {
	for i := range n {
		objects.Log(logger, fmt.Sprintf("ns/%d", i), effect, errInvalid)
	}
}

// TestErrorsOfAnEffectAreLoggedTenTimesThenOnceAMinute logs errors on 20,000 objects, three times
// within a minute and once more later.
func TestErrorsOfAnEffectAreLoggedTenTimesThenOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		objects := errlog.NewObjects(clock.RealClock{}, true)
		for range 3 {
			logAll(objects, log.logger(0), feed.Absent, 20000)
			<-time.After(time.Second)
		}
		logAll(objects, log.logger(0), feed.Duplicate, 3)
		if got := log.take(); len(got) != 13 || count(got, `"Object not stored"`) != 10 || count(got, "listed more than once") != 3 {
			t.Errorf("logged %d lines, want ten of an effect and three of another: %q", len(got), got[:min(20, len(got))])
		}
		<-time.After(time.Minute)
		got := log.take()
		if len(got) != 1 || count(got, `"effect"="Absent"`) != 1 || count(got, `"errors"=59970`) != 1 ||
			count(got, `"object"="ns/19999"`) != 1 || count(got, `"see"="Status.QuarantinedKeys"`) != 1 || count(got, `"error"="invalid"`) != 1 {
			t.Errorf("logged %q after a minute, want one line with the number, the last object and its error", got)
		}
		logAll(objects, log.logger(0), feed.Absent, 20000)
		<-time.After(10 * time.Minute)
		if got := log.take(); len(got) != 1 || count(got, `"errors"=19990`) != 1 {
			t.Errorf("logged %q in ten minutes, want one line", got)
		}
	})
}

// TestVerbosityTwoLogsEachErrorOnce counts the lines of each object.
func TestVerbosityTwoLogsEachErrorOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		objects := errlog.NewObjects(clock.RealClock{}, false)
		logAll(objects, log.logger(2), feed.LastStateKept, 1000)
		got := log.take()
		if len(got) != 1000 {
			t.Errorf("logged %d lines, want 1000", len(got))
		}
		for i := range 1000 {
			if n := count(got, fmt.Sprintf("%q=%q", "object", fmt.Sprintf("ns/%d", i))); n != 1 {
				t.Errorf("logged object %d %d times", i, n)
			}
		}
		<-time.After(time.Minute)
		if got := log.take(); len(got) != 1 || count(got, "Status.") != 0 {
			t.Errorf("logged %q, want one line that does not point to a Status", got)
		}
	})
}

// TestRepeatedErrorOfAnObjectIsLoggedOnce logs one error again and again, then another one.
func TestRepeatedErrorOfAnObjectIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		objects := errlog.NewObjects(clock.RealClock{}, true)
		for range 600 {
			objects.Log(log.logger(0), "ns/a", feed.Absent, errInvalid)
			<-time.After(time.Second)
		}
		objects.Log(log.logger(0), "ns/a", feed.Absent, errors.New("other"))
		<-time.After(time.Hour)
		if got := log.take(); len(got) != 3 || count(got, "other") != 1 {
			t.Errorf("logged %q, want the error twice in ten minutes and the other one once", got)
		}
	})
}

// TestErrorsAreLoggedOneByOneAgain logs many errors, and a few more, one in a minute, once there
// were none for five minutes.
func TestErrorsAreLoggedOneByOneAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		objects := errlog.NewObjects(clock.RealClock{}, true)
		logAll(objects, log.logger(0), feed.Absent, 100)
		<-time.After(5 * time.Minute)
		log.take()
		for i := range 30 {
			objects.Log(log.logger(0), fmt.Sprintf("ns/later-%d", i), feed.Absent, errInvalid)
			<-time.After(time.Minute)
		}
		if got := log.take(); len(got) != 30 || count(got, `"Object not stored"`) != 30 {
			t.Errorf("logged %q, want each of 30 errors", got)
		}
	})
}

// TestFlushLogsWhatIsLeft ends an informer before a summary is due.
func TestFlushLogsWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		objects := errlog.NewObjects(clock.RealClock{}, true)
		logAll(objects, log.logger(0), feed.Absent, 100)
		log.take()
		objects.Flush()
		if got := log.take(); len(got) != 1 || count(got, `"errors"=90`) != 1 {
			t.Errorf("logged %q at the end, want one line", got)
		}
		<-time.After(time.Hour)
		if got := log.take(); len(got) != 0 {
			t.Errorf("logged %q after the end", got)
		}
	})
}

// TestFakeClockMayCallUnderItsLock steps a clock of client-go's tests, which calls functions under
// its lock, while errors are logged.
func TestFakeClockMayCallUnderItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		fake := clocktesting.NewFakeClock(time.Now())
		objects := errlog.NewObjects(fake, true)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 1000 {
				fake.Step(time.Minute)
			}
		}()
		logAll(objects, log.logger(0), feed.Absent, 5000)
		<-done
		fake.Step(time.Minute)
		objects.Flush()
		log.take()
	})
}

// passiveClock is a clock without AfterFunc.
type passiveClock struct{ clock.PassiveClock }

func TestClockWithoutAfterFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		objects := errlog.NewObjects(passiveClock{clock.RealClock{}}, true)
		logAll(objects, log.logger(0), feed.Absent, 11)
		<-time.After(time.Minute)
		if got := log.take(); len(got) != 11 || count(got, `"errors"=1`) != 1 {
			t.Errorf("logged %q", got)
		}
	})
}
