// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// fault is a fault of a number of requests.
type fault struct {
	Kind   string
	Target string // a request: targetList, targetPage, targetProbe or targetWatch
	Times  int    // how many requests fail; forever if negative
	After  int    `json:",omitempty"` // of an open watch: the number of events before the fault
	Bytes  int    `json:",omitempty"` // over HTTP: the number of bytes of the body before the fault
}

// id identifies faults of one kind, of a number of requests or forever.
func (f fault) id() string {
	id := f.Target + ": " + f.Kind
	if f.Times < 0 {
		id += lasting
	}
	return id
}

const lasting = ", forever"

// Requests that may fail.
const (
	targetList  = "list"
	targetPage  = "page" // a further page of a list
	targetProbe = "probe"
	targetWatch = "watch"
)

// requestErrors are faults of any request.
var requestErrors = map[string]error{
	"500":             fake.InternalError(),
	"503":             apierrors.NewServiceUnavailable("starting"),
	"401":             apierrors.NewUnauthorized("token expired"),
	"403":             fake.Forbidden(),
	"404":             apierrors.NewNotFound(cachetest.PodResource, ""),
	"410":             fake.Expired(),
	"429":             fake.TooManyRequests(0),
	"429 Retry-After": fake.TooManyRequests(7),
	"504 too large":   fake.TooLargeResourceVersion(),
	"refused":         cachetest.ErrConnectionRefused,
	"unexpected":      errors.New("unexpected EOF"),
}

// Faults of any request that are not errors.
const (
	faultPanic = "panic"       // the function panics
	faultHold  = "no answer"   // the request is not answered before it is cancelled
	faultSlow  = "slow answer" // the answer is read at once and arrives later
	faultLate  = "late answer" // the answer is read and arrives later
)

const slowness = 20 * time.Second

// Faults of lists.
const (
	faultLag       = "replica that lags" // a list not older than a version is older
	faultNoVersion = "no version"        // only of lists that follow a watch
	faultKind      = "another kind"
)

// Faults of open watches.
const (
	faultClose       = "closed"
	faultClose45     = "closed after 45 s"
	faultStall       = "stalls"
	faultReplay      = "replays an event"
	faultDuplicate   = "repeats the last event"
	faultOldBookmark = "old bookmark"
	faultNoBookmarks = "no bookmarks"
	faultSilent      = "silent at first" // is not one of faultKinds: a seed is to stand for the same program

	// The adapter stores objects without a name, as client-go does, and so has no such fault.
	faultNoMetadata = "no metadata"
)

// streamErrors are events that end a watch.
var streamErrors = map[string]watch.Event{
	"410 in stream":           fake.ErrorEvent(fake.Expired()),
	"500 in stream":           fake.ErrorEvent(fake.InternalError()),
	"429 in stream":           fake.ErrorEvent(fake.TooManyRequests(1)),
	"504 too large in stream": fake.ErrorEvent(fake.TooLargeResourceVersion()),
	"no object":               {Type: watch.Added},
	faultNoMetadata:           {Type: watch.Modified, Object: &corev1.Pod{}},
	"object of another kind":  {Type: watch.Added, Object: cachetest.Node("n", "9")},
	"unknown event":           {Type: "PATCHED", Object: cachetest.Pod("x", cachetest.WithVersion("999"))},
}

// faultKinds are the kinds of the faults of each target, in an order that does not change.
var faultKinds = func() map[string][]string {
	always := slices.Concat(sortedKeys(requestErrors), []string{faultPanic, faultHold, faultSlow, faultLate})
	return map[string][]string{
		targetList:  slices.Concat(always, []string{faultLag, faultNoVersion, faultKind}),
		targetPage:  slices.Concat(always, []string{faultKind}),
		targetProbe: always,
		targetWatch: slices.Concat(always, []string{faultClose, faultClose45, faultStall, faultReplay, faultDuplicate, faultOldBookmark, faultNoBookmarks}, sortedKeys(streamErrors)),
	}
}()
