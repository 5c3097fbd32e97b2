// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/store"
)

// A handler that ends its goroutine on some events loses these events only: it is reported,
// receives all others, and syncs.
func TestHandlerThatEndsItsGoroutineGoesOn(t *testing.T) {
	ends := func(key string) bool { return key == "b" || key == "d" }
	for name, configure := range map[string]func(config *HandlerConfig, received func(key string)){
		"event handler": func(config *HandlerConfig, received func(key string)) {
			config.OnEvent = func(e Event) { received(e.Key) }
		},
		"batch handler": func(config *HandlerConfig, received func(key string)) {
			config.OnBatch = func(events []Event) {
				for _, e := range events {
					received(e.Key)
				}
			}
		},
		"key handler": func(config *HandlerConfig, received func(key string)) {
			config.OnKey = func(event KeyEvent) { received(event.Key) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			var received, reported []string
			var handler *Handler
			runInformer(t, []string{"a=1", "b=1", "c=1"}, func(config *Config) { config.batchSize = 1 }, func(h *harness) {
				config := HandlerConfig{Name: "handler", OnPanic: func(_ context.Context, key string, value any) {
					reported = append(reported, fmt.Sprintf("%s: %v", key, value))
				}}
				configure(&config, func(key string) {
					if ends(key) {
						runtime.Goexit()
					}
					received = append(received, key)
				})
				handler = h.add(config)
			}, func(h *harness) {
				h.send(watch.Added, "d=1", "11")
				h.send(watch.Added, "e=1", "12")
				if got := strings.Join(received, " "); got != "a c e" && got != "c a e" {
					t.Errorf("received %q, want a, c and e", got)
				}
				if len(reported) != 2 || !strings.Contains(reported[1], "d: ") || !strings.Contains(reported[1], "Goexit") {
					t.Errorf("reported %q, want b and d", reported)
				}
				if !handler.HasSynced() || handler.Status().Backlog != 0 {
					t.Errorf("status %+v, want a synced handler without a backlog", handler.Status())
				}
			})
		})
	}
}

// A transform that blocks while a handler blocks, too, does not double the time that Run takes.
func TestRunWaitsTenSecondsForAllFunctions(t *testing.T) {
	resume := make(chan struct{})
	runInformer(t, []string{"a=1"}, func(config *Config) {
		resume = make(chan struct{})
		config.Store.Decode = func(item feed.Item) (any, error) {
			if string(item.Raw) == "a=blocked" {
				<-resume
			}
			return string(item.Raw), nil
		}
	}, func(h *harness) {
		h.add(HandlerConfig{Name: "blocked", OnEvent: func(Event) { <-resume }})
	}, func(h *harness) {
		h.send(watch.Modified, "a=blocked", "11")
		began := time.Now()
		err := h.stop()
		if !errors.Is(err, ErrFunctionBlocked) || !errors.Is(err, ErrHandlerBlocked) || time.Since(began) != 10*time.Second {
			t.Errorf("Run returned %v after %v, want both errors after %v", err, time.Since(began), 10*time.Second)
		}
		close(resume)
	})
}

// A function that does not return does not keep Run from returning. Once it returns after Run, no
// other function is called, and the store remains as it was.
func TestNoFunctionIsCalledAfterRun(t *testing.T) {
	for _, blocked := range []string{"transform", "report"} {
		t.Run(blocked, func(t *testing.T) {
			resume := make(chan struct{})
			calls := 0
			enter := func(function string, blocks bool) {
				if calls++; blocks && function == blocked {
					<-resume
				}
			}
			runInformer(t, []string{"a=1"}, func(config *Config) {
				resume = make(chan struct{})
				config.Store.Decode = func(item feed.Item) (any, error) {
					enter("transform", string(item.Raw) == "a=blocked")
					if string(item.Raw) == "a=blocked" && blocked == "report" {
						return "", errors.New("broken")
					}
					return string(item.Raw), nil
				}
				config.Store.Indexers = map[string]store.IndexFunc{"index": func(any) ([]string, error) {
					enter("index", false)
					return nil, errors.New("broken")
				}}
				config.Store.Report = func(_ string, err error) { enter("report", !strings.Contains(err.Error(), "index")) }
			}, func(*harness) {}, func(h *harness) {
				h.send(watch.Modified, "a=blocked", "11")
				began := time.Now()
				if err := h.stop(); !errors.Is(err, ErrFunctionBlocked) || time.Since(began) != 10*time.Second {
					t.Errorf("Run returned %v after %v, want ErrFunctionBlocked after %v", err, time.Since(began), 10*time.Second)
				}
				before := calls
				close(resume)
				synctest.Wait()
				if calls != before {
					t.Errorf("%d calls after Run", calls-before)
				}
			})
		})
	}
}

// failingSource is a source whose lists fail.
type failingSource struct{ feed.Source }

func (failingSource) List(context.Context, metav1.ListOptions, func(feed.Item) error) (metav1.ListMeta, error) {
	return metav1.ListMeta{}, errors.New("refused")
}

// Traits implements feed.Source.
func (failingSource) Traits() feed.Traits { return feed.Traits{} }

// A panic of an ErrorHandler in the reflector's goroutine, and a call of runtime.Goexit, end Run in
// the goroutine of its caller.
func TestPanicOfTheReflectorContinuesInRun(t *testing.T) {
	for name, c := range map[string]struct {
		end  func()
		want string
	}{
		"panic":  {func() { panic("broken") }, "panic: broken"},
		"Goexit": {runtime.Goexit, "error: " + feed.ErrGoexit.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				informer := New(Config{Name: "strings", Store: stringStore(), Reflector: reflector.Config{
					Source: failingSource{}, Report: func(context.Context, error) { c.end() },
				}})
				got := make(chan string, 1)
				go func() {
					defer func() {
						if r := recover(); r != nil {
							got <- fmt.Sprint("panic: ", r)
						}
					}()
					if err := informer.Run(t.Context()); err != nil {
						got <- fmt.Sprint("error: ", err)
					}
				}()
				if text := <-got; text != c.want {
					t.Errorf("Run ended with %q, want %q", text, c.want)
				}
			})
		})
	}
}

// A handler that ends its goroutine during a resync receives the rest of it.
func TestResyncGoesOnAfterGoexit(t *testing.T) {
	var updates []string
	ended := false
	runInformer(t, []string{"a=1", "b=1", "c=1", "d=1"}, nil, func(h *harness) {
		h.add(HandlerConfig{Name: "handler", Resync: time.Minute, OnEvent: func(e Event) {
			if e.Type != Update {
				return
			}
			if !ended {
				ended = true
				runtime.Goexit()
			}
			updates = append(updates, e.Key)
		}})
	}, func(h *harness) {
		<-time.After(90 * time.Second)
		synctest.Wait()
		if len(updates) != 3 {
			h.t.Errorf("the resync delivered %q after the Goexit, want the other three", updates)
		}
	})
}

// A report of a failing handler that ends the handler's goroutine itself, as testing.T.Fatal in an
// ErrorHandler does, does not end the delivery.
func TestDeliveryGoesOnAfterGoexitOfTheReport(t *testing.T) {
	for name, fail := range map[string]func(){"Goexit": runtime.Goexit, "panic": func() { panic("broken") }} {
		t.Run(name, func(t *testing.T) {
			var received []string
			var handler *Handler
			runInformer(t, []string{"a=1"}, nil, func(h *harness) {
				handler = h.add(HandlerConfig{
					Name: "handler", ContinueOnPanic: true,
					OnPanic: func(context.Context, string, any) { runtime.Goexit() },
					OnEvent: func(e Event) {
						if e.Key == "a" {
							fail()
						}
						received = append(received, e.Key)
					},
				})
			}, func(h *harness) {
				h.send(watch.Added, "b=1", "11")
				h.expect("the handler", received, "b")
				if !handler.HasSynced() {
					t.Error("the handler has not synced")
				}
			})
		})
	}
}
