// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
)

// hostileLimits are small, so that a hostile response need not be large.
var hostileLimits = cache.Limits{Object: 64 << 10, Other: 16 << 10}

// hostileSize is the size of hostile responses, a thousand times their limit.
const hostileSize = 16 << 20

// repeat answers with head, the same text until hostileSize is reached, and tail.
func repeat(contentType, head, text, tail string) http.HandlerFunc {
	return repeatStatus(http.StatusOK, contentType, head, text, tail)
}

func repeatStatus(code int, contentType, head, text, tail string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		writeRepeated(w, head, text, tail)
	}
}

func writeRepeated(w io.Writer, head, text, tail string) {
	_, err := io.WriteString(w, head)
	chunk := strings.Repeat(text, 32<<10/len(text))
	for sent := 0; sent < hostileSize && err == nil; sent += len(chunk) {
		_, err = io.WriteString(w, chunk)
	}
	_, _ = io.WriteString(w, tail)
}

const (
	podListHead  = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"`
	podEventHead = `"object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9"`
)

// hostileResponses are responses that would need memory without bounds, and a part of the error
// that names the bound.
var hostileResponses = map[string]struct {
	verb    string
	respond http.HandlerFunc
	want    string
}{
	"continue token":       {"list", repeat("application/json", podListHead+`,"continue":"`, "x", `"},"items":[]}`), "metadata: larger than allowed: at least 65489 bytes, Limits.Other is 16384"},
	"error body":           {"list", repeatStatus(http.StatusForbidden, "text/plain", "", "x", ""), "list: xxx"},
	"error body, Status":   {"list", repeatStatus(http.StatusForbidden, "application/json", `{"kind":"Status","apiVersion":"v1","reason":"Forbidden","code":403,"message":"`, "x", `"}`), "unknown (get pods)"},
	"Status as the list":   {"list", repeat("application/json", `{"kind":"Status","message":"`, "x", `"}`), "message: larger than allowed"},
	"unnamed item":         {"list", repeat("application/json", podListHead+`},"items":[{"x":"`, "x", `"}]}`), "item 0, byte 65616: larger than allowed: at least 65536 bytes, Limits.Object"},
	"version":              {"list", repeat("application/json", `{"kind":"PodList","apiVersion":"v1","items":[],"metadata":{"resourceVersion":"`, "1", `"}}`), "Limits.Other"},
	"gzip bomb":            {"list", gzipped(podListHead + `,"continue":"`), "Limits.Other"},
	"headers":              {"list", manyHeaders, "server response headers exceeded"},
	"nesting":              {"list", repeat("application/json", podListHead+`},"items":[{"a":`, "[", ""), "unexpected EOF"},
	"event":                {"watch", repeat("application/json", `{"type":"ADDED",`+podEventHead+`},"x":"`, "x", `"}}`), "event 0, byte 65536"},
	"bookmark":             {"watch", repeat("application/json", `{"type":"BOOKMARK",`+podEventHead+`,"annotations":{"a":"`, "x", `"}}}}`), "Limits.Object"},
	"ERROR":                {"watch", repeat("application/json", `{"type":"ERROR","object":{"kind":"Status","message":"`, "x", `"}}`), "Limits.Object"},
	"gzip bomb of a watch": {"watch", gzipped(`{"type":"ADDED",` + podEventHead + `},"x":"`), "Limits.Object"},
	"long ERROR":           {"watch", cachetest.Serve("application/json", []byte(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":500,"message":"`+strings.Repeat("x", 10_000)+`"}}`)), "... (10000 bytes)"},
	"long version":         {"watch", cachetest.Serve("application/json", []byte(`{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"`+strings.Repeat("9", 10_000)+`"}}}`)), "no valid resourceVersion"},
	"long version, event":  {"watch", cachetest.Serve("application/json", []byte(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"`+strings.Repeat("9", 10_000)+`"}}}`)), "no valid resourceVersion"},
	"long name":            {"watch", cachetest.Serve("application/json", []byte(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9","name":"`+strings.Repeat("x", 10_000)+`"}}}`)), "metadata.name and namespace are longer than 4096 bytes"},
	"long kind":            {"watch", cachetest.Serve("application/json", []byte(`{"type":"ADDED","object":{"kind":"`+strings.Repeat("x", 10_000)+`","apiVersion":"v1","metadata":{"resourceVersion":"9","name":"x"}}}`)), "wrong kind"},
	"frame of 4 GiB":       {"watch", cachetest.Serve("application/vnd.kubernetes.protobuf;stream=watch", []byte("\xff\xff\xff\xff\x0a\x05ADDED")), "Limits.Object"},
}

// gzipped answers with a compressed body, which is a thousandth of what it decompresses to.
func gzipped(head string) http.HandlerFunc {
	var body bytes.Buffer
	compressor := gzip.NewWriter(&body)
	writeRepeated(compressor, head, "x", "")
	_ = compressor.Close()
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		cachetest.Serve(runtime.ContentTypeJSON, body.Bytes())(w, r)
	}
}

// manyHeaders answers with 16 MiB of headers. The transport bounds them.
func manyHeaders(w http.ResponseWriter, _ *http.Request) {
	for i := range hostileSize >> 10 {
		w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1<<10))
	}
}

// TestHostileResponsesAreBounded answers all lists, or all watches, with a response that would need
// memory without bounds. The error names the bound, its text is short, the store keeps its objects,
// the rate of requests is bounded, and the informer recovers.
func TestHostileResponsesAreBounded(t *testing.T) {
	for name, hostile := range hostileResponses {
		t.Run(name, func(t *testing.T) {
			overNetwork(t, http1, streamingClient, cache.ReflectorOptions{Limits: hostileLimits}, func(h *cachetest.Harness, n *network) {
				cachetest.Advance(time.Minute)
				h.ExpectSynced()
				works := refuse(n, hostile.verb, hostile.respond)
				h.UpdateEverySecond(100)
				h.Expire() // if a watch is open, a list follows
				h.CloseWatches()
				cachetest.Advance(2 * time.Minute)
				n.expectRequestRate()
				expectShortErrors(t, h, hostile.want)
				if got := h.Store.Len(); got != 3 {
					t.Errorf("%d objects stored, want 3", got)
				}
				works.Store(true)
				h.CloseWatches()
				recovers(h, 2*time.Minute)
			})
		})
	}
}

// expectShortErrors checks that an error says what exceeds a bound, and that all texts are short.
func expectShortErrors(t *testing.T, h *cachetest.Harness, want string) {
	t.Helper()
	found := false
	for _, err := range h.TakeErrors() {
		text := err.Error()
		found = found || strings.Contains(text, want)
		if len(text) > 5000 {
			t.Errorf("error of %d bytes: %.100s", len(text), text)
		}
	}
	if status := fmt.Sprint(h.Controller.Status()); len(status) > 6000 {
		t.Errorf("Status has %d bytes", len(status))
	}
	if !found {
		t.Errorf("no error with %q; status %.1000v", want, h.Controller.Status().Err)
	}
}

// TestHostileResponseNeedsLittleMemory sends each hostile response to one request. What the
// informer allocates for it depends on the limits alone.
func TestHostileResponseNeedsLittleMemory(t *testing.T) {
	for name, hostile := range hostileResponses {
		if name == "headers" { // the transport reads up to 10 MiB of them
			continue
		}
		limit := uint64(memory.Slack)
		switch name {
		case "nesting", "unnamed item", "event", "gzip bomb of a watch": // the whole body is read, by the network in small pieces
			limit += hostileSize / 8
		}
		t.Run(name, func(t *testing.T) {
			overNetwork(t, http1, streamingClient, cache.ReflectorOptions{Limits: hostileLimits}, func(h *cachetest.Harness, n *network) {
				cachetest.Advance(time.Second)
				before := len(n.allReceived())
				refuse(n, hostile.verb, hostile.respond)
				allocated := memory.Allocated(func() {
					h.Expire()
					cachetest.Advance(30 * time.Second)
				})
				if requests := len(n.allReceived()) - before; allocated > uint64(requests)*limit {
					t.Errorf("%d bytes allocated for %d requests", allocated, requests)
				}
			})
		})
	}
}

// TestEmptyItemsDoNotFloodTheLog lists a hundred thousand empty items. The list is stored, all are
// counted, and ten are reported.
func TestEmptyItemsDoNotFloodTheLog(t *testing.T) {
	const items = 100_000
	body := []byte(podListHead + `},"items":[` + strings.Repeat("{},", items) + `{"metadata":{"name":"a","namespace":"ns","uid":"x","resourceVersion":"8"}}]}`)
	overNetwork(t, http1, streamingClient, cache.ReflectorOptions{}, func(h *cachetest.Harness, n *network) {
		cachetest.Advance(time.Second)
		refuse(n, "list", cachetest.Serve("application/json", body))
		h.Expire()
		cachetest.Advance(time.Second)
		if status := h.Controller.Status(); status.Store.Unnamed != items || h.Store.Len() != 1 {
			t.Errorf("%d items without a name, %d objects stored; want %d and 1", status.Store.Unnamed, h.Store.Len(), items)
		}
		reported := 0
		for _, err := range h.TakeErrors() {
			if _, ok := errors.AsType[*cache.ObjectError](err); ok {
				reported++
			}
		}
		if reported != 10 {
			t.Errorf("%d items were reported, want 10", reported)
		}
	})
}
