// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestWatchErrorHandlerReceivesRefusedWatches checks that the watch error handler is called once
// for each watch request that cannot be opened, with the server's own error, unless the connection
// was refused or the server is too busy.
func TestWatchErrorHandlerReceivesRefusedWatches(t *testing.T) {
	for name, test := range map[string]struct {
		err      error
		attempts int
		want     int
	}{
		"410":                {apierrors.NewResourceExpired("gone"), 1, 1},
		"500":                {apierrors.NewInternalError(errRefused), 2, 2},
		"an unknown error":   {errRefused, 1, 1},
		"429":                {apierrors.NewTooManyRequests("later", 1), 2, 0},
		"connection refused": {syscall.ECONNREFUSED, 2, 0},
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server := newServer("a")
			var errs errorRecorder
			run(t, server, clientgo.Options{}, errs.handle(t))
			server.InjectWatchFault(test.attempts, fake.Fault{Err: test.err})
			server.CloseWatches()
			cachetest.Advance(30 * time.Second)
			got := errs.all()
			if len(got) != test.want {
				t.Fatalf("the handler received %v, want %d errors", got, test.want)
			}
			for _, err := range got {
				if err != test.err {
					t.Errorf("the handler received a %T, want the server's %T", err, test.err)
				}
			}
		})
	}
}

// TestWatchErrorHandlerReceivesFailedLists checks that the watch error handler is called once for
// each failed list, whatever failed, with client-go's text.
func TestWatchErrorHandlerReceivesFailedLists(t *testing.T) {
	for name, err := range map[string]error{
		"429":                apierrors.NewTooManyRequests("later", 1),
		"403":                apierrors.NewForbidden(corev1.Resource("pods"), "", errRefused),
		"connection refused": syscall.ECONNREFUSED,
		"no such host":       cachetest.ErrNoSuchHost,
		"an unknown error":   errRefused,
	} {
		cachetest.RunInBubble(t, name, func(t *testing.T) {
			server := newServer("a")
			server.InjectWatchFault(1, fake.Fault{Err: errGaveUp}) // the WatchList
			server.InjectListFault(2, fake.Fault{Err: err})
			var errs errorRecorder
			run(t, server, clientgo.Options{}, errs.handle(t))
			cachetest.Advance(30 * time.Second)
			got := errs.all()
			if len(got) != 2 {
				t.Fatalf("the handler received %v, want two errors", got)
			}
			if want := "failed to list *v1.Pod: " + err.Error(); got[0].Error() != want || !errors.Is(got[0], err) {
				t.Errorf("the handler received %q, want %q", got[0], want)
			}
		})
	}
}

// TestErrorOfOpenWatchIsLogged checks that an error in the stream of a watch is logged, a 410 at
// level 4, and not passed to the watch error handler.
func TestErrorOfOpenWatchIsLogged(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		verbose int // least verbosity of the message
		message string
	}{
		"410": {apierrors.NewResourceExpired("too old"), 4, "Watch closed"},
		"429": {apierrors.NewTooManyRequests("later", 1), 2, "Watch failed, backing off"},
		"500": {apierrors.NewInternalError(errRefused), 0, "Warning: watch ended with error"},
		"503": {apierrors.NewServiceUnavailable("starting"), 0, "Warning: watch ended with error"},
	} {
		for verbosity := max(test.verbose-1, 0); verbosity <= test.verbose; verbosity++ {
			cachetest.RunInBubble(t, fmt.Sprintf("%s at verbosity %d", name, verbosity), func(t *testing.T) {
				server := newServer("a")
				informer := plain.NewSharedIndexInformer(server, &corev1.Pod{}, 0, nil)
				var errs errorRecorder
				errs.handle(t)(informer)
				logged := runLoggedAt(t, informer, verbosity)
				synctest.Wait()
				server.Send(fake.ErrorEvent(test.err))
				cachetest.Advance(30 * time.Second)
				if got := errs.all(); len(got) != 0 {
					t.Errorf("the handler received %v, want nothing", got)
				}
				want := 0
				if verbosity == test.verbose {
					want = 1
				}
				if got := logged.count(strconv.Quote(test.message)); got != want {
					t.Errorf("%q was logged %d times, want %d:\n%s", test.message, got, want, &logged.log)
				}
			})
		}
	}
}
