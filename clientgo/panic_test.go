package clientgo_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
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
