// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestRepeatedErrorIsLoggedEveryFiveMinutes fails lists with errors that differ only in the timeout
// of their URL and in their local port.
func TestRepeatedErrorIsLoggedEveryFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var unroutable atomic.Bool
		attempts := 0
		fail := func() error {
			cause := "connection refused"
			if unroutable.Load() {
				cause = "no route to host"
			}
			attempts++
			return fmt.Errorf("Get \"https://10.0.0.1:6443/api/v1/pods?timeoutSeconds=%d\": read tcp 10.0.0.2:%d: %s",
				300+attempts, 40000+attempts, cause)
		}
		logger, log := bufferedLogger(5)
		logged := func() int { return strings.Count(log(), "Failed to list, will retry") }
		reflector := cache.NewReflector(&cache.ListWatch{
			ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, fail() },
			WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return nil, errors.New("unexpected watch")
			},
		}, &corev1.Pod{}, cache.NewStore[*corev1.Pod](nil, nil), cache.ReflectorOptions{Logger: logger})
		start(t, reflector)

		cachetest.Advance(4 * time.Minute)
		if logged() != 1 || attempts < 5 {
			t.Errorf("%d attempts with one cause were logged %d times in 4 minutes, want once", attempts, logged())
		}
		unroutable.Store(true)
		cachetest.Advance(time.Minute)
		if logged() != 2 {
			t.Errorf("%d errors were logged, want 2: the cause has changed", logged())
		}
		cachetest.Advance(6 * time.Minute)
		if logged() != 3 {
			t.Errorf("%d errors were logged, want 3: five minutes have passed", logged())
		}
	})
}

// TestErrorOfManyInformersIsOneLineAMinute fails the lists of fifty informers of several resources
// for one reason. The second round, at about the same time, does not count the informers of the
// first, which have stopped. An ErrorHandler receives each error.
func TestErrorOfManyInformersIsOneLineAMinute(t *testing.T) {
	for _, begin := range []time.Duration{0, 4 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			cachetest.Advance(begin)
			logger, log := bufferedLogger(0)
			for i := range 50 {
				start(t, newRefused(fmt.Sprint("resource-", i), new(atomic.Int64), cache.InformerOptions[*corev1.Pod]{Logger: logger}))
			}
			var attempts, reported atomic.Int64
			handler := func(context.Context, error) { reported.Add(1) }
			start(t, newRefused("handled", &attempts, cache.InformerOptions[*corev1.Pod]{ErrorHandler: handler}))
			cachetest.Advance(3*time.Minute + 50*time.Second)
			lines := strings.Count(log(), "Failed to list")
			if many := strings.Count(log(), "informers=50"); lines != 4 || many != 3 {
				t.Errorf("%d lines in four minutes, %d of them about 50 informers, want 4 and 3:\n%s", lines, many, log())
			}
			if attempts.Load() < 5 || reported.Load() != attempts.Load() {
				t.Errorf("%d errors of %d attempts were reported to the ErrorHandler", reported.Load(), attempts.Load())
			}
		})
	}
}

// newRefused returns an informer of a resource, which counts its attempts to list it. The server
// refuses connections.
func newRefused(resource string, attempts *atomic.Int64, options cache.InformerOptions[*corev1.Pod]) *cache.SharedInformer[*corev1.Pod] {
	options.Name = resource
	return cache.NewSharedInformer(&cache.ListWatch{
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			attempts.Add(1)
			return nil, &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api/v1/" + resource, Err: errors.New("dial tcp 10.0.0.1:6443: connect: connection refused")}
		},
		WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return nil, errors.New("unexpected watch")
		},
	}, &corev1.Pod{}, options)
}

// mutationErrors runs an informer whose handler calls write with Pod a, and returns the reported
// errors. The check runs after the informer has stopped; an earlier one would race with the
// handler.
func mutationErrors(t *testing.T, options cache.InformerOptions[*corev1.Pod], write func(*corev1.Pod)) (errs []error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards errs
		options.ErrorHandler = func(_ context.Context, err error) {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
		server := fake.NewListerWatcher(&corev1.Pod{})
		server.Create(cachetest.Pod("a", cachetest.WithLabel("x", "1")))
		server.Create(cachetest.Pod("b", cachetest.WithLabel("x", "1")))
		informer := cache.NewSharedInformer(server, &corev1.Pod{}, options)
		handle(t, informer, func(e cache.Event[*corev1.Pod]) {
			if e.Object().Name == "a" {
				write(e.Object())
			}
		})
		start(t, informer)
		synctest.Wait()
	})
	return errs
}

// TestDetectMutations checks that an error names the object and the field that a handler modified.
func TestDetectMutations(t *testing.T) {
	write := func(p *corev1.Pod) { p.Labels["x"] = "2" }
	detect := cache.InformerOptions[*corev1.Pod]{DetectMutations: true}
	errs := mutationErrors(t, detect, write)
	if len(errs) != 1 || !errors.Is(errs[0], cache.ErrMutated) || !cachetest.ErrorContains(`"ns/a"`)(errs[0]) || !cachetest.ErrorContains(`metadata.labels.x was "1", is "2"`)(errs[0]) {
		t.Errorf("errors %v", errs)
	}
	if errs := mutationErrors(t, detect, func(*corev1.Pod) {}); len(errs) != 0 {
		t.Errorf("errors without a modification: %v", errs)
	}
	if errs := mutationErrors(t, cache.InformerOptions[*corev1.Pod]{}, write); len(errs) != 0 {
		t.Errorf("errors without DetectMutations: %v", errs)
	}
}

// TestDetectMutationsByEnvironment enables the check with client-go's environment variable.
func TestDetectMutationsByEnvironment(t *testing.T) {
	t.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "true")
	if errs := mutationErrors(t, cache.InformerOptions[*corev1.Pod]{}, func(p *corev1.Pod) { p.Spec.NodeName = "n" }); len(errs) != 1 || !cachetest.ErrorContains("spec.nodeName")(errs[0]) {
		t.Errorf("errors %v", errs)
	}
	if errs := mutationErrors(t, cache.InformerOptions[*corev1.Pod]{Packed: true}, func(p *corev1.Pod) { p.Spec.NodeName = "n" }); len(errs) != 0 {
		t.Errorf("packed: errors %v", errs)
	}
	packed := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Packed: true, DetectMutations: true})
	if err := packed.Run(t.Context()); !cachetest.ErrorContains("cannot be combined with Packed")(err) {
		t.Errorf("Run: %v", err)
	}
}

// runLogged runs a test with a running SharedInformer that logs its errors, and returns the log.
func runLogged(t *testing.T, options cache.InformerOptions[*corev1.Pod], test func(s *sharedHarness)) (log string) {
	t.Helper()
	logger, logged := bufferedLogger(5)
	options.Logger = logger
	runShared(t, options, test, func(s *sharedHarness) {
		s.SharedInformer = cache.NewSharedInformer(s.Harness, &corev1.Pod{}, options)
	})
	return logged()
}

// TestObjectErrorEffect checks the effect of each error on an object, and the message that the
// default ErrorHandler logs. For EffectUnreadable, see TestUnreadableObjectIsReported.
func TestObjectErrorEffect(t *testing.T) {
	invalid := cachetest.WithLabel("x", "invalid")
	fail := func(p *corev1.Pod) error {
		if p.Labels["x"] == "invalid" {
			return errRejected
		}
		return nil
	}
	transform := cache.InformerOptions[*corev1.Pod]{Transform: func(p *corev1.Pod) (*corev1.Pod, error) { return p, fail(p) }}
	index := cache.InformerOptions[*corev1.Pod]{Indexers: cache.Indexers[*corev1.Pod]{
		"x": cache.ByObject(func(p *corev1.Pod) ([]string, error) { return nil, fail(p) }),
	}}
	for effect, c := range map[cache.ObjectEffect]struct {
		options      cache.InformerOptions[*corev1.Pod]
		change       func(s *sharedHarness)
		key, message string
	}{
		cache.EffectAbsent: {transform, func(s *sharedHarness) { s.Create(cachetest.Pod("d", invalid)) },
			"ns/d", "Object not stored"},
		cache.EffectLastStateKept: {transform, func(s *sharedHarness) { s.Update(cachetest.Pod("a", invalid)) },
			"ns/a", "Object's newest state not stored, the last good state is kept"},
		cache.EffectNotIndexed: {index, func(s *sharedHarness) { s.Update(cachetest.Pod("a", invalid)) },
			"ns/a", "Object stored, but an index does not find it"},
		cache.EffectFinalStateUnknown: {transform, func(s *sharedHarness) {
			final := must(s.Get("ns/a")).DeepCopy()
			s.SkipVersions(10)
			invalid(final)
			final.ResourceVersion = "9"
			s.Send(watch.Event{Type: watch.Deleted, Object: final})
		}, "ns/a", "Object deleted, its event has the last known state"},
	} {
		t.Run(string(effect), func(t *testing.T) {
			change := func(s *sharedHarness) {
				c.change(s)
				synctest.Wait()
			}
			runShared(t, c.options, func(s *sharedHarness) {
				change(s)
				var object *cache.ObjectError
				errs := s.TakeErrors()
				if len(errs) != 1 || !errors.As(errs[0], &object) || object.Effect != effect || object.Key != c.key || !errors.Is(object, errRejected) {
					t.Errorf("errors %+v, want one on %s with effect %s", errs, c.key, effect)
				}
			})
			log := runLogged(t, c.options, change)
			if strings.Count(log, c.message) != 1 || !strings.Contains(log, `object="`+c.key+`"`) || !strings.Contains(log, `err="`) {
				t.Errorf("logged %q, want %q once", log, c.message)
			}
		})
	}
}

// TestFailedAttemptIsLogged checks the message for each kind of failed request.
func TestFailedAttemptIsLogged(t *testing.T) {
	for message, fail := range map[string]func(s *sharedHarness){
		"Failed to list, will retry": func(s *sharedHarness) {
			s.InjectListFault(1, fake.Fault{Err: fake.Forbidden()})
			s.Send(fake.ErrorEvent(fake.Expired()))
		},
		"Failed to open a watch, will retry": func(s *sharedHarness) {
			s.InjectWatchFault(1, fake.Fault{Err: fake.Forbidden()})
			s.CloseWatches()
		},
		"Watch ended with an error, will retry": func(s *sharedHarness) { s.Send(fake.ErrorEvent(fake.InternalError())) },
		"Relisting":                             func(s *sharedHarness) { s.Update(cachetest.Pod("a", cachetest.WithLabel("x", "invalid"))) },
	} {
		log := runLogged(t, cache.InformerOptions[*corev1.Pod]{Transform: failOnce()}, func(s *sharedHarness) {
			fail(s)
			cachetest.Advance(12 * time.Minute) // longer than a watch, after which rejected objects are listed
		})
		if strings.Count(log, message) != 1 {
			t.Errorf("logged %q, want %q once", log, message)
		}
	}
}

// TestExpiredWatchIsLoggedAsNoFailure checks that a 410, after which the informer relists, is
// neither an error nor followed by a recovery.
func TestExpiredWatchIsLoggedAsNoFailure(t *testing.T) {
	log := runLogged(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		s.Expire()
		cachetest.Advance(time.Minute)
		s.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		s.CloseWatches()
		cachetest.Advance(time.Minute)
	})
	if strings.Contains(log, "ERROR") || strings.Contains(log, "Recovered") || strings.Count(log, "Relisting") != 2 {
		t.Errorf("logged %q", log)
	}
}

// failOnce returns a Transform that fails for the first Pod with a label x.
func failOnce() func(*corev1.Pod) (*corev1.Pod, error) {
	failed := false
	return func(p *corev1.Pod) (*corev1.Pod, error) {
		if p.Labels["x"] != "" && !failed {
			failed = true
			return nil, errRejected
		}
		return p, nil
	}
}

// TestRecoveryIsLoggedOnce fails three watches. One message follows the failed attempts, and none
// follows a relist or a watch that the server closes.
func TestRecoveryIsLoggedOnce(t *testing.T) {
	const recovered = "Recovered, lists and watches succeed again"
	log := runLogged(t, cache.InformerOptions[*corev1.Pod]{Transform: failOnce()}, func(s *sharedHarness) {
		s.CloseWatches()
		s.Update(cachetest.Pod("a", cachetest.WithLabel("x", "invalid")))
		cachetest.Advance(time.Hour)
	})
	if strings.Contains(log, recovered) || !strings.Contains(log, "Relisting") {
		t.Errorf("logged %q without a failed attempt", log)
	}
	log = runLogged(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		s.InjectWatchFault(3, fake.Fault{Err: fake.Forbidden()})
		s.CloseWatches()
		cachetest.Advance(time.Hour)
	})
	if strings.Count(log, recovered) != 1 || !strings.Contains(log, "failedAttempts=3") {
		t.Errorf("logged %q, want one recovery from 3 attempts", log)
	}
}

// TestFailureAfterARecoveryIsLogged fails twice for the same reason within five minutes.
func TestFailureAfterARecoveryIsLogged(t *testing.T) {
	log := runLogged(t, cache.InformerOptions[*corev1.Pod]{}, func(s *sharedHarness) {
		for range 10 {
			s.InjectWatchFault(1, fake.Fault{Err: fake.Forbidden()})
			s.CloseWatches()
			cachetest.Advance(20 * time.Second)
		}
	})
	failed, recovered := strings.Count(log, "Failed to open a watch"), strings.Count(log, "Recovered, lists")
	if recovered != 3 || failed != 4 {
		t.Errorf("%d failures and %d recoveries were logged, want 4 and 3:\n%s", failed, recovered, log)
	}
}
