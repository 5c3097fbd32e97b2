// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/tap"
	"github.com/kinformer/kinformer/internal/wire"
)

// mode is how a source's responses are read: split as they arrive, or decoded whole by the client.
type mode struct {
	mu        sync.Mutex // guards the fields below
	streaming bool
	reason    string // for not streaming; empty before the first response
	disabled  bool   // streaming was tried and cannot work for this collection
	trial     string // why a list could not be split, if the client is to decode the next one
	requested bool   // the program has asked for streaming
	byDefault bool   // the program has not, and a list that cannot be split is decoded by the client
	noContext bool   // the functions do not pass the context with the tap on
	noTap     string // why the client has no tap, if that is known
	warned    bool
}

// Reasons for not streaming.
const (
	reasonUnknownFunctions = "the ListerWatcher's own functions may change the server's response; set Streaming if they do not"
	reasonNoTap            = "the client's transport was not prepared; call EnableStreaming on its config, and pass the context of the list or watch function on to the client"
	reasonNoContext        = "the list and watch function take no context, as those of older generated code; set ListWithContextFunc and WatchFuncWithContext"
	reasonNoType           = "the type of the objects is not known; pass an example object"
	reasonDisabled         = "the options of the informer disable it"
	reasonKindAfterItems   = "the server states the kind of a list's objects only after them; set apiVersion and kind of the example object"
	reasonKindName         = "the kind of the objects is not named like their Go type"
)

// record records how the response of a request that ended with err was read, and logs a change. One
// that could not be read at all, such as a proxy's page, does not end streaming.
func (m *mode) record(ctx context.Context, response tap.Response, err error) {
	reason := ""
	switch {
	case response.Consumed:
	case !response.Intercepted && err == nil && m.noContext:
		reason = reasonNoContext
	case !response.Intercepted && err == nil:
		reason = cmp.Or(m.noTap, reasonNoTap)
	case response.StatusCode != http.StatusOK: // no response to a list or watch
		return
	case err != nil && m.streams():
		return
	case response.Encoding != "":
		reason = fmt.Sprintf("the server's response has Content-Encoding %s, which the transport does not decode", wire.Quote(response.Encoding))
	default:
		reason = fmt.Sprintf("the server's response has Content-Type %s", wire.Quote(response.ContentType))
	}
	logger := klog.FromContext(ctx)
	if m.set(response.Consumed, reason) {
		logMode(logger, response.Consumed, reason)
	}
	if !response.Consumed {
		m.warn(logger, response.Intercepted || m.noContext && tap.Requested())
	}
}

// warn logs once that responses are not split, if the program has asked for it: by an option, or by
// a tap in the client's transport.
func (m *mode) warn(logger klog.Logger, hasTap bool) {
	m.mu.Lock()
	due := (hasTap || m.requested) && !m.warned
	m.warned = m.warned || due
	reason := m.reason
	m.mu.Unlock()
	if due {
		logger.Info("Warning: lists and watches are not read from the stream", "reason", reason)
	}
}

// tapDetector warns if the client's transport has the tap, which the source does not use.
type tapDetector struct {
	ListerWatcher

	mode   *mode
	traits *traits
}

func (d tapDetector) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	request, hasTap := tap.Detect(ctx)
	list, err := d.ListerWatcher.List(request, options)
	d.found(ctx, hasTap())
	return list, err
}

func (d tapDetector) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	request, hasTap := tap.Detect(ctx)
	watcher, err := d.ListerWatcher.Watch(request, options)
	d.found(ctx, hasTap())
	return watcher, err
}

func (d tapDetector) found(ctx context.Context, hasTap bool) {
	d.mode.warn(klog.FromContext(ctx), hasTap)
	if hasTap {
		d.traits.isServer()
	}
}

// markStreaming records that a response is being split, before its first item is passed on.
func (m *mode) markStreaming(logger klog.Logger) {
	if m.set(true, "") {
		logMode(logger, true, "")
	}
}

// disable ends streaming for a reason that holds for every later response.
func (m *mode) disable(logger klog.Logger, reason string) {
	m.mu.Lock()
	m.streaming, m.reason, m.disabled = false, reason, true
	m.mu.Unlock()
	logMode(logger, false, reason)
	m.warn(logger, true)
}

// notSplit records why a list could not be split, if the client is to decode the next one for that
// reason.
func (m *mode) notSplit(err error) (isTrial bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byDefault {
		m.trial = fmt.Sprintf("a list could not be read from the stream: %v", err)
	}
	return m.byDefault
}

// currentTrial returns why the client is to decode the next list, or "" if it is not.
func (m *mode) currentTrial() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trial
}

// endTrial ends a trial that has failed.
func (m *mode) endTrial() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trial = ""
}

func (m *mode) isDisabled() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.disabled
}

func logMode(logger klog.Logger, streaming bool, reason string) {
	logger.V(2).Info("Changed how lists and watches are read", "streaming", streaming, "reason", reason)
}

// set reports whether the mode changed.
func (m *mode) set(streaming bool, reason string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.disabled { // a response that began before is still being split
		return false
	}
	changed := streaming != m.streaming || reason != m.reason
	m.streaming, m.reason = streaming, reason
	return changed
}

func (m *mode) streams() bool {
	streaming, _ := m.get()
	return streaming
}

func (m *mode) get() (streaming bool, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.streaming, m.reason
}
