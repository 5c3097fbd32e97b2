// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// clientRetriesWarning is in the log of an informer whose client repeats requests.
const clientRetriesWarning = "the client repeats requests by itself"

// refuse makes respond answer every list, or every watch, until works is set. The test fails if
// there was none.
func refuse(n *network, verb string, respond http.HandlerFunc) (works *atomic.Bool) {
	works = new(atomic.Bool)
	var refused atomic.Int64
	n.T.Cleanup(func() {
		if refused.Load() == 0 {
			n.T.Errorf("no %s was refused", verb)
		}
	})
	n.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if works.Load() || r.URL.Query().Has("watch") != (verb == "watch") {
			return false
		}
		refused.Add(1)
		respond(w, r)
		return true
	}
	return works
}

// unavailable returns a 503 with a Retry-After.
func unavailable(seconds int32) error {
	err := apierrors.NewServiceUnavailable("starting")
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
	return err
}

// allReceived returns the requests that the server has received.
func (n *network) allReceived() []received {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.received)
}

// typedClient returns a ListWatch of a typed client.
func typedClient(n *network, streaming bool) *cache.ListWatch {
	config := &rest.Config{Host: "http://server", QPS: -1, Transport: n.transport}
	if streaming {
		cache.EnableStreaming(config)
	}
	return cache.ListWatchOf(corev1client.NewForConfigOrDie(config).Pods(""))
}

// errBroken makes ServeError break the connection.
var errBroken = errors.New("broken connection")

// TestClientDoesNotRepeatRequests refuses requests with a Retry-After, or breaks their connections.
// client-go repeats such requests by itself, up to ten times, a second apart. A ListWatch of a REST
// client, and streaming, leave it to the informer.
func TestClientDoesNotRepeatRequests(t *testing.T) {
	for name, source := range map[string]func(n *network) *cache.ListWatch{
		"REST client":             func(n *network) *cache.ListWatch { return n.Source.(*cache.ListWatch) },
		"typed client, streaming": func(n *network) *cache.ListWatch { return typedClient(n, true) },
	} {
		for _, verb := range []string{"list", "watch"} {
			for _, refused := range []error{fake.TooManyRequests(1), unavailable(1), errBroken} {
				t.Run(fmt.Sprintf("%s, %s, %v", name, verb, refused), func(t *testing.T) {
					var works *atomic.Bool
					var logged logBuffer
					overNetwork(t, http1, decodingClient, cache.ReflectorOptions{Logger: logged.logger()}, func(h *cachetest.Harness, n *network) {
						cachetest.Advance(10 * time.Minute)
						n.expectRequestRate()
						if strings.Contains(logged.String(), clientRetriesWarning) {
							t.Errorf("logged %s", &logged)
						}
						works.Store(true)
						cachetest.Advance(time.Minute)
						h.ExpectStored("a@2 b@3 c@4")
					}, func(h *cachetest.Harness, n *network) {
						n.transport.DisableKeepAlives = true // it repeats requests that fail on a used connection
						h.Source = source(n)
						works = refuse(n, verb, func(w http.ResponseWriter, _ *http.Request) { cachetest.ServeError(w, refused) })
					})
				})
			}
		}
	}
}

// TestRetryAfterOfARESTClientIsHonored refuses the requests of a REST client without streaming. As
// API servers do, the response has the Retry-After in its Status, or is plain text.
func TestRetryAfterOfARESTClientIsHonored(t *testing.T) {
	for name, respond := range map[string]http.HandlerFunc{
		"in the Status": func(w http.ResponseWriter, _ *http.Request) { cachetest.ServeError(w, fake.TooManyRequests(40)) },
		"in plain text": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "40")
			http.Error(w, "too many", http.StatusTooManyRequests)
		},
	} {
		for _, verb := range []string{"list", "watch"} {
			t.Run(verb+", "+name, func(t *testing.T) {
				overNetwork(t, http1, decodingClient, cache.ReflectorOptions{}, func(_ *cachetest.Harness, n *network) {
					cachetest.Advance(5 * time.Minute)
					received := slices.DeleteFunc(n.allReceived(), func(r received) bool { return !strings.HasPrefix(r.String(), verb) })
					for i, r := range received[1:] {
						if waited := r.at.Sub(received[i].at); waited < 40*time.Second {
							t.Errorf("waited %v after a Retry-After of 40 s", waited)
						}
					}
					if len(received) < 3 {
						t.Errorf("%d requests", len(received))
					}
				}, func(_ *cachetest.Harness, n *network) { refuse(n, verb, respond) })
			})
		}
	}
}

// TestRepeatedRequestsOfTheClientAreLoggedOnce refuses the requests of a typed client without
// streaming: client-go makes eleven requests for each of the informer's. The informer logs that
// once. It cannot prevent it.
func TestRepeatedRequestsOfTheClientAreLoggedOnce(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		t.Run(verb, func(t *testing.T) {
			var logged logBuffer
			overNetwork(t, http1, decodingClient, cache.ReflectorOptions{Logger: logged.logger()}, func(h *cachetest.Harness, n *network) {
				cachetest.Advance(5 * time.Minute)
				attempts, requests := len(h.TakeErrors()), len(n.allReceived())
				if attempts < 3 || requests < 11*attempts {
					t.Errorf("%d requests in %d attempts", requests, attempts)
				}
				if count := strings.Count(logged.String(), clientRetriesWarning); count != 1 {
					t.Errorf("logged %d times: %s", count, &logged)
				}
			}, func(h *cachetest.Harness, n *network) {
				h.Source = typedClient(n, false)
				refuse(n, verb, func(w http.ResponseWriter, _ *http.Request) { cachetest.ServeError(w, fake.TooManyRequests(1)) })
			})
		})
	}
}

// TestRefusalsByFunctionsOfTheProgramAreNotAboutTheClient refuses requests with a Retry-After, by
// functions that make no HTTP request, and by an event of a stream, which no client repeats.
func TestRefusalsByFunctionsOfTheProgramAreNotAboutTheClient(t *testing.T) {
	refused := fake.TooManyRequests(1)
	for name, refuse := range map[string]func(h *cachetest.Harness){
		"list":  func(h *cachetest.Harness) { h.InjectListFault(3, fake.Fault{Err: refused}) },
		"watch": func(h *cachetest.Harness) { h.InjectWatchFault(3, fake.Fault{Err: refused}) },
		"event": func(h *cachetest.Harness) {
			h.BookmarkEvery(time.Second)
			h.InjectWatchFault(3, fake.Fault{EditEvent: replaceBy(fake.ErrorEvent(refused))})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var logged logBuffer
			cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{Logger: logged.logger()}, func(h *cachetest.Harness) {
				cachetest.Advance(5 * time.Minute)
				if len(h.TakeErrors()) == 0 {
					t.Error("no request was refused")
				}
				if strings.Contains(logged.String(), clientRetriesWarning) {
					t.Errorf("logged %s", &logged)
				}
			}, refuse)
		})
	}
}
