// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// errBoom is the value of the panics in these tests.
var errBoom = errors.New("boom")

// panicInUserCode is in the stack of every panic in these tests.
func panicInUserCode() { panic(errBoom) }

// panickingStream is a watch.Interface whose methods may panic.
type panickingStream struct {
	watch.Interface
	resultChan, stop func()
}

func (s panickingStream) ResultChan() <-chan watch.Event {
	if s.resultChan != nil {
		s.resultChan()
	}
	return s.Interface.ResultChan()
}

func (s panickingStream) Stop() {
	s.Interface.Stop()
	if s.stop != nil {
		s.stop()
	}
}

// userPanics are the functions of a source that may panic, by calling their first argument.
var userPanics = map[string]func(call func(), lw *podLister) *cache.ListWatch{
	"List": func(call func(), lw *podLister) *cache.ListWatch {
		return &cache.ListWatch{WatchFunc: lw.Watch, ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			call()
			return lw.List(ctx, options)
		}}
	},
	"Watch": func(call func(), lw *podLister) *cache.ListWatch {
		return &cache.ListWatch{ListFunc: lw.List, WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			call()
			return lw.Watch(ctx, options)
		}}
	},
	"ResultChan": func(call func(), lw *podLister) *cache.ListWatch {
		return watchingWith(lw, func(w watch.Interface) watch.Interface { return panickingStream{Interface: w, resultChan: call} })
	},
	"Stop": func(call func(), lw *podLister) *cache.ListWatch {
		return watchingWith(lw, func(w watch.Interface) watch.Interface {
			return panickingStream{Interface: w, stop: call}
		})
	},
}

// watchingWith returns a ListWatch with streams that are changed by a function.
func watchingWith(lw *podLister, change func(watch.Interface) watch.Interface) *cache.ListWatch {
	return &cache.ListWatch{ListFunc: lw.List, WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		w, err := lw.Watch(ctx, options)
		if err != nil {
			return nil, err
		}
		return change(w), nil
	}}
}

// logBuffer is a log that may be written by several goroutines.
type logBuffer struct {
	mu  sync.Mutex
	log strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

func (b *logBuffer) logger() klog.Logger {
	return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(b)))
}

// expectPanicLogged checks that the log has the panic, its own stack, and the informer's name.
func (b *logBuffer) expectPanicLogged(t *testing.T) {
	t.Helper()
	for _, want := range []string{"boom", "panicInUserCode", `informer="my informer"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the log does not contain %q:\n%s", want, b)
		}
	}
}

// expectPanicInRun runs an informer for an hour at most. Run must panic, and the log have the
// panic, its own stack, and the informer's name.
func expectPanicInRun(t *testing.T, source cache.ListerWatcher) {
	t.Helper()
	var logged logBuffer
	informer := cache.NewSharedInformer(source, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "my informer", Logger: logged.logger()})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	func() {
		defer func() {
			if v := recover(); v != errBoom {
				t.Errorf("recovered %v from Run", v)
			}
		}()
		_ = informer.Run(ctx)
	}()
	logged.expectPanicLogged(t)
	if phase := informer.Status().Phase; phase != cache.PhaseStopped {
		t.Errorf("phase %s", phase)
	}
}

// TestPanicOfSourceIsRaisedInRun checks that a panic of a list or watch function, or of the stream
// that it returned, can be recovered by the caller of Run. The log names the informer.
func TestPanicOfSourceIsRaisedInRun(t *testing.T) {
	for name, source := range userPanics {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				expectPanicInRun(t, source(panicInUserCode, fake.NewListerWatcher(&corev1.Pod{})))
			})
		})
	}
}

// TestPanicOfProbeIsRaisedInRun panics in the list by which an idle watch is checked, in a
// goroutine of its own.
func TestPanicOfProbeIsRaisedInRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := fake.NewListerWatcher(&corev1.Pod{})
		lw.Create(cachetest.Pod("a"))
		expectPanicInRun(t, &cache.ListWatch{WatchFunc: lw.Watch, ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			if options.Limit == 1 {
				panicInUserCode()
			}
			return lw.List(ctx, options)
		}})
	})
}

// TestPanicOfSourceIsAFailedAttempt disables ReallyCrash, and lets a function panic for ten
// minutes. Each panic is a failed attempt, which is reported and repeated at a limited rate.
func TestPanicOfSourceIsAFailedAttempt(t *testing.T) {
	defer func(crash bool) { utilruntime.ReallyCrash = crash }(utilruntime.ReallyCrash)
	utilruntime.ReallyCrash = false
	for name, source := range userPanics {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			var works atomic.Bool
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.CloseWatches()
				h.ExpectError(func(err error) bool {
					return errors.Is(err, errBoom) && strings.Contains(err.Error(), name+": panic: boom")
				})
				cachetest.Advance(10 * time.Minute)
				if n := calls.Load(); n < 2 || n > 120 {
					t.Errorf("%d attempts in ten minutes", n)
				}
				works.Store(true)
				cachetest.Advance(time.Minute)
				h.Update(cachetest.Pod("a"))
				h.ExpectStored("a@5 b@3 c@4")
			}, func(h *cachetest.Harness) {
				h.Source = source(func() {
					if calls.Add(1); !works.Load() {
						panicInUserCode()
					}
				}, h.ListerWatcher)
			})
		})
	}
}

// TestBrokenFunctionOfSourceIsAFailedAttempt makes the first call of a function of the source end
// its goroutine, or return a nil pointer in place of a list, whose responses may be streamed, or a
// watch.
func TestBrokenFunctionOfSourceIsAFailedAttempt(t *testing.T) {
	exitOnce := func() func() {
		var once sync.Once
		return func() {
			exits := false
			once.Do(func() { exits = true })
			if exits {
				goruntime.Goexit()
			}
		}
	}
	for reported, source := range map[string]func(lw *podLister) *cache.ListWatch{
		"List ended its goroutine":  func(lw *podLister) *cache.ListWatch { return userPanics["List"](exitOnce(), lw) },
		"Watch ended its goroutine": func(lw *podLister) *cache.ListWatch { return userPanics["Watch"](exitOnce(), lw) },
		"the watch is nil": func(lw *podLister) *cache.ListWatch {
			watches := 0
			return watchingWith(lw, func(w watch.Interface) watch.Interface {
				if watches++; watches == 1 {
					w.Stop()
					return (*watch.FakeWatcher)(nil)
				}
				return w
			})
		},
		"the list is nil": func(lw *podLister) *cache.ListWatch {
			lists := 0
			return &cache.ListWatch{Streaming: true, WatchFunc: lw.Watch, ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				if lists++; lists == 1 {
					return (*corev1.PodList)(nil), nil
				}
				return lw.List(ctx, options)
			}}
		},
	} {
		t.Run(reported, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectError(cachetest.ErrorContains(reported))
				cachetest.Advance(5 * time.Second)
				h.Update(cachetest.Pod("a"))
				h.ExpectEvents("A a@2", "A b@3", "A c@4", "U a@2→5")
			}, func(h *cachetest.Harness) { h.Source = source(h.ListerWatcher) })
		})
	}
}

// TestPanicAfterTheRequestWasGivenUpIsLogged cancels an informer while its list function runs,
// which panics then. The panic is logged, and does not end the process.
func TestPanicAfterTheRequestWasGivenUpIsLogged(t *testing.T) {
	for _, name := range []string{"List", "Watch", "Stop"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lw := fake.NewListerWatcher(&corev1.Pod{})
				var logged logBuffer
				resume := make(chan struct{})
				source := userPanics[name](func() { <-resume; panicInUserCode() }, lw)
				if name == "Stop" {
					source = &cache.ListWatch{ListFunc: lw.List, WatchFunc: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
						<-resume
						return panickingStream{Interface: watch.NewFake(), stop: panicInUserCode}, nil
					}}
				}
				informer := cache.NewSharedInformer(source, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
					Name: "my informer", Logger: logged.logger(),
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := informer.Run(ctx); err != nil {
					t.Error(err)
				}
				close(resume)
				synctest.Wait()
				logged.expectPanicLogged(t)
			})
		})
	}
}

// panickingTransport panics in the nth request, or while its response is read.
type panickingTransport struct {
	next   http.RoundTripper
	watch  bool // panics in watches, otherwise in lists
	inBody bool
	once   func()
}

func (p *panickingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") != p.watch {
		return p.next.RoundTrip(r)
	}
	if !p.inBody {
		p.once()
	}
	response, err := p.next.RoundTrip(r)
	if err == nil && p.inBody {
		response.Body = panickingBody{response.Body, p.once}
	}
	return response, err
}

type panickingBody struct {
	io.ReadCloser
	once func()
}

func (b panickingBody) Read(p []byte) (int, error) {
	b.once()
	return b.ReadCloser.Read(p)
}

// TestPanicOfTransportIsRaisedInRun lets the client's transport panic in a request, and while its
// response is streamed, which another goroutine does.
func TestPanicOfTransportIsRaisedInRun(t *testing.T) {
	for _, c := range []panickingTransport{{}, {inBody: true}, {watch: true}, {watch: true, inBody: true}} {
		t.Run(fmt.Sprintf("watch %v, in the body %v", c.watch, c.inBody), func(t *testing.T) {
			expectPanicInRun(t, podsThrough(t, c, panicInUserCode))
		})
	}
}

// podsThrough returns a streaming ListWatch whose transport panics.
func podsThrough(t *testing.T, transport panickingTransport, once func()) *cache.ListWatch {
	t.Helper()
	proxy, config := cachetest.NewProxy(t, false)
	cachetest.Must(t, proxy.API.Create, cachetest.Pod("a"))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		wrapped := transport
		wrapped.next, wrapped.once = next, once
		return &wrapped
	})
	cache.EnableStreaming(config)
	return cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods(""))
}

// TestPanicOfTransportIsAFailedAttempt is TestPanicOfTransportIsRaisedInRun without ReallyCrash.
func TestPanicOfTransportIsAFailedAttempt(t *testing.T) {
	defer func(crash bool) { utilruntime.ReallyCrash = crash }(utilruntime.ReallyCrash)
	utilruntime.ReallyCrash = false
	for _, c := range []panickingTransport{{}, {inBody: true}, {watch: true}, {watch: true, inBody: true}} {
		t.Run(fmt.Sprintf("watch %v, in the body %v", c.watch, c.inBody), func(t *testing.T) {
			var once sync.Once
			lw := podsThrough(t, c, func() { once.Do(panicInUserCode) })
			var logged logBuffer
			h := cachetest.RunOverNetwork(t, lw, &corev1.Pod{}, func(o *cache.ReflectorOptions) { o.Name, o.Logger = "my informer", logged.logger() })
			if err := cachetest.Next(t, h.Errors); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "panic: boom") {
				t.Errorf("error %v", err)
			}
			if event := cachetest.Next(t, h.Events); !strings.HasPrefix(event, "A a@") {
				t.Errorf("event %q", event)
			}
			h.End()
			logged.expectPanicLogged(t)
		})
	}
}
