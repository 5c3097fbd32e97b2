// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestHandlerPanicIsHandledAsByClientGo compares the log of a handler's panic, and the calls of
// utilruntime.PanicHandlers, with those of an informer of client-go: the line begins with the
// panic, and names the place where it happened and the handler's logger.
func TestHandlerPanicIsHandledAsByClientGo(t *testing.T) {
	setReallyCrash(t, false)
	for name, named := range map[string]func(klog.Logger) klog.Logger{
		"unnamed": func(logger klog.Logger) klog.Logger { return logger },
		"named":   func(logger klog.Logger) klog.Logger { return klog.LoggerWithName(logger, "pods") },
	} {
		t.Run(name, func(t *testing.T) {
			want, wantPanics := logOfPanic(t, clientcache.NewSharedIndexInformer, named)
			got, panics := logOfPanic(t, plain.NewSharedIndexInformer, named)
			if len(want) != 1 || !slices.Equal(got, want) || !slices.Equal(panics, wantPanics) {
				t.Errorf("the log has %q, and the panic handlers were called with %q, want %q and %q", got, panics, want, wantPanics)
			}
		})
	}
}

// setReallyCrash sets utilruntime.ReallyCrash until the end of the test.
func setReallyCrash(t *testing.T, crash bool) {
	t.Helper()
	before := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = crash
	t.Cleanup(func() { utilruntime.ReallyCrash = before })
}

// logOfPanic returns the lines that a handler's panic logs, without time and stack, and the values
// with which utilruntime.PanicHandlers are called.
func logOfPanic(t *testing.T, newInformer newInformerFunc, named func(klog.Logger) klog.Logger) (lines []string, panics []any) {
	t.Helper()
	before := utilruntime.PanicHandlers
	defer func() { utilruntime.PanicHandlers = before }()
	utilruntime.PanicHandlers = append(slices.Clone(before), func(_ context.Context, value any) { panics = append(panics, value) })
	logged := &logBuffer{}
	logger := named(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(logged))))
	synctest.Test(t, func(t *testing.T) {
		informer := newInformer(newServer("a"), &corev1.Pod{}, 0, clientcache.Indexers{})
		handler := clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("the handler's") }}
		if _, err := informer.AddEventHandlerWithOptions(handler, clientcache.HandlerOptions{Logger: &logger}); err != nil {
			t.Fatal(err)
		}
		runInformer(t, informer)
	})
	for line := range strings.SplitSeq(logged.log.String(), "\n") {
		if strings.Contains(line, "Observed a panic") {
			lines = append(lines, regexp.MustCompile(`^.* (\w+\.go:\d+\].*panic="the handler's").*$`).ReplaceAllString(line, "$1"))
		}
	}
	return lines, panics
}

type newInformerFunc = func(clientcache.ListerWatcher, runtime.Object, time.Duration, clientcache.Indexers) clientcache.SharedIndexInformer

// panickingStore panics in each call of a method.
type panickingStore struct {
	callRecorder

	method string
}

func (s *panickingStore) Add(obj any) error {
	if s.method == "Add" {
		panic("Add failed")
	}
	return s.callRecorder.Add(obj)
}

func (s *panickingStore) Replace(objs []any, resourceVersion string) error {
	if s.method == "Replace" {
		panic("Replace failed")
	}
	return s.callRecorder.Replace(objs, resourceVersion)
}

// TestPanicOfAStoreIsHandledAsByClientGo checks that utilruntime handles a panic of a Reflector's
// store, in a list, a WatchList and a watch, and that the reflector then panics, or goes on if
// utilruntime.ReallyCrash is false.
func TestPanicOfAStoreIsHandledAsByClientGo(t *testing.T) {
	var handled atomic.Int32
	before := utilruntime.PanicHandlers
	defer func() { utilruntime.PanicHandlers = before }()
	utilruntime.PanicHandlers = []func(context.Context, any){func(context.Context, any) { handled.Add(1) }}
	for name, c := range map[string]struct {
		method           string
		watchList, crash bool
	}{
		"list":                {"Replace", false, true},
		"WatchList":           {"Replace", true, true},
		"watch":               {"Add", false, true},
		"list, no crash":      {"Replace", false, false},
		"WatchList, no crash": {"Replace", true, false},
		"watch, no crash":     {"Add", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			setReallyCrash(t, c.crash)
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, c.watchList)
			forEachReflector(t, func(t *testing.T, newReflector newReflectorFunc) {
				handled.Store(0)
				server := newServer("a")
				r := newReflector(server, &panickingStore{method: c.method}, clientcache.ReflectorOptions{}, reflectorFields{})
				ctx, cancel := context.WithCancel(t.Context())
				returned := make(chan any, 1)
				go func() {
					defer func() { returned <- recover() }()
					r.RunWithContext(ctx)
				}()
				synctest.Wait()
				server.Create(cachetest.Pod("b"))
				synctest.Wait()
				if handled.Load() == 0 || (len(returned) > 0) != c.crash {
					t.Errorf("%d panics were handled, Run has returned is %v", handled.Load(), len(returned) > 0)
				}
				cancel()
				if value := <-returned; c.crash != (value == c.method+" failed") {
					t.Errorf("Run panicked with %v", value)
				}
			})
		})
	}
}
