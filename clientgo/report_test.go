// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// logBuffer is a log that several goroutines write.
type logBuffer struct {
	mu  sync.Mutex
	log strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

// count returns how often the log contains text.
func (b *logBuffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.log.String(), text)
}

// runLogged runs an informer with a log of its own.
func runLogged(t *testing.T, informer clientcache.SharedIndexInformer) *logBuffer {
	t.Helper()
	return runLoggedAt(t, informer, 0)
}

func runLoggedAt(t *testing.T, informer clientcache.SharedIndexInformer, verbosity int) *logBuffer {
	t.Helper()
	logged := &logBuffer{}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(logged), textlogger.Verbosity(verbosity)))
	background(t, func(ctx context.Context) { informer.RunWithContext(klog.NewContext(ctx, logger)) })
	return logged
}

// TestErrorsDoNotStopTimeInBubble reports an error on an object and a failed list in a bubble,
// after an error was passed to utilruntime.HandleError outside. Its rate limit remembers the time
// of the last error, which is decades after the bubble's, and would sleep until then.
func TestErrorsDoNotStopTimeInBubble(t *testing.T) {
	utilruntime.HandleError(errors.New("outside of the bubble"))
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a", "bad")
		server.InjectWatchFault(1, fake.Fault{Err: errRefused})
		server.InjectListFault(1, fake.Fault{Err: errRefused})
		informer := plain.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
		withTransform(t, func(obj any) (any, error) {
			if obj.(*corev1.Pod).Name == "bad" {
				return nil, errGaveUp
			}
			return obj, nil
		})(informer)
		logged := runLogged(t, informer)
		began := time.Now()
		<-informer.HasSyncedChecker().Done()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("synced after %v", took)
		}
		synctest.Wait()
		for _, want := range []string{`"Failed to watch" err="failed to list *v1.Pod: refused"`, `"Object not stored" err="transform: gave up"`, `object="ns/bad"`, `informer="Pod"`} {
			if logged.count(want) == 0 {
				t.Errorf("the log does not contain %s:\n%s", want, &logged.log)
			}
		}
	})
}

// TestErrorOfManyInformersIsOneLineAMinute fails the lists of fifty informers of two types for one
// reason. An informer that is alone with its error logs each attempt, as client-go does.
func TestErrorOfManyInformersIsOneLineAMinute(t *testing.T) {
	for number, want := range map[int]func(lines, ofMany int) bool{
		50: func(lines, ofMany int) bool { return lines == 4 && ofMany == 3 },
		1:  func(lines, ofMany int) bool { return lines > 5 && ofMany == 0 },
	} {
		cachetest.RunInBubble(t, fmt.Sprint(number), func(t *testing.T) {
			logged := &logBuffer{}
			logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(logged)))
			for i := range number {
				server := newServer()
				server.InjectWatchFault(-1, fake.Fault{Err: errRefused})
				server.InjectListFault(-1, fake.Fault{Err: errRefused})
				informer := plain.NewSharedIndexInformer(server, []runtime.Object{&corev1.Pod{}, &corev1.Node{}}[i%2], 0, nil)
				background(t, func(ctx context.Context) { informer.RunWithContext(klog.NewContext(ctx, logger)) })
			}
			cachetest.Advance(3*time.Minute + 50*time.Second)
			if lines, ofMany := logged.count("Failed to watch"), logged.count("informers=50"); !want(lines, ofMany) {
				t.Errorf("%d lines in four minutes, %d of them about 50 informers:\n%s", lines, ofMany, &logged.log)
			}
		})
	}
}

// TestLoggedCausePrecedesURL fails a list without a response of the server.
func TestLoggedCausePrecedesURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("a")
		server.InjectWatchFault(1, fake.Fault{Err: errRefused})
		server.InjectListFault(1, fake.Fault{Err: cachetest.ErrNoSuchHost})
		informer := plain.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
		logged := runLogged(t, informer)
		cachetest.Advance(time.Minute)
		if logged.count(`failed to list *v1.Pod: dial tcp: lookup server: no such host (Get \"https://server/api/v1/pods\")`) != 1 {
			t.Error(&logged.log)
		}
	})
}

// TestRepeatedObjectErrorIsLoggedOnce reports one error again and again: the adapter logs it once
// in five minutes, and another one at once.
func TestRepeatedObjectErrorIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer("bad")
		informer := plain.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
		failure := errGaveUp
		withTransform(t, func(any) (any, error) { return nil, failure })(informer)
		logged := runLogged(t, informer)
		for range 10 {
			server.Update(cachetest.Pod("bad"))
			synctest.Wait()
		}
		failure = errRefused
		server.Update(cachetest.Pod("bad"))
		synctest.Wait()
		if first, second := logged.count("gave up"), logged.count("refused"); first != 1 || second != 1 {
			t.Errorf("logged %d and %d times, want once each: %s", first, second, &logged.log)
		}
	})
}

// TestPanicOfTransformNamesIt checks that the logged error says which function panicked.
func TestPanicOfTransformNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := plain.NewSharedIndexInformer(newServer("a"), &corev1.Pod{}, 0, nil)
		withTransform(t, func(any) (any, error) { panic("too much") })(informer)
		logged := runLogged(t, informer)
		synctest.Wait()
		if logged.count("transform: panic: too much") != 1 {
			t.Error(fmt.Sprint(&logged.log))
		}
	})
}

// TestManyFailedObjectsWriteFewLogLines lists 20,000 objects that cannot be stored: the log has ten
// of them, and one line with the number of the others, after a minute or when Run returns. From
// verbosity 2 on, it has each object once.
func TestManyFailedObjectsWriteFewLogLines(t *testing.T) {
	for verbosity, want := range map[int]int{0: 10, 2: 20000} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer()
			for i := range 20000 {
				server.Create(cachetest.Pod(fmt.Sprint(i)))
			}
			informer := plain.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
			withTransform(t, func(any) (any, error) { return nil, errGaveUp })(informer)
			logged := runLoggedAt(t, informer, verbosity)
			<-time.After(time.Minute)
			synctest.Wait()
			if n := logged.count("Object not stored"); n != want {
				t.Errorf("%d objects were logged at verbosity %d, want %d", n, verbosity, want)
			}
			if logged.count("More errors on objects") != 1 || logged.count("errors=19990") != 1 || logged.count(`see="Status.QuarantinedKeys"`) != 1 {
				t.Error("the log does not have the number of the other objects once")
			}
		})
	}
}
