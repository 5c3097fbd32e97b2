// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// request is a request as sent, and the header of its response.
type request struct {
	watch, initialEvents bool
	path, shards         string // shards is the shard selector
	version              string
	query                url.Values
	accept               string
	status               int
	contentType          string
	proto                string
	tls, gzip            bool
	at                   time.Time
	probe                bool   // a list of one object for the most recent version
	server               string // that the request was sent to
	open                 bool   // the body of the response has not been closed
}

// requests records the requests of one client.
type requests struct {
	mu  sync.Mutex
	all []*request
}

// wrap returns a transport that records each request after its response.
func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		query := req.URL.Query()
		sent := &request{
			at:    time.Now(),
			query: query,
			watch: query.Get("watch") != "", probe: query.Get("limit") == "1", initialEvents: query.Get("sendInitialEvents") == "true",
			path: req.URL.Path, shards: query.Get("shardSelector"), version: query.Get("resourceVersion"), accept: req.Header.Get("Accept"),
		}
		resp, err := next.RoundTrip(req)
		if err == nil {
			sent.server = resp.Request.URL.Host
			sent.status, sent.contentType = resp.StatusCode, resp.Header.Get("Content-Type")
			sent.proto, sent.tls, sent.gzip = resp.Proto, resp.TLS != nil, resp.Uncompressed
			sent.open = true
			resp.Body = &recordedBody{resp.Body, r, sent}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = append(r.all, sent)
		return resp, err
	})
}

// recordedBody is a response's body, whose end is recorded.
type recordedBody struct {
	io.ReadCloser
	requests *requests
	request  *request
}

func (b *recordedBody) Close() error {
	b.requests.mu.Lock()
	b.request.open = false
	b.requests.mu.Unlock()
	return b.ReadCloser.Close()
}

// texts returns the verbs and parameters of all requests, and the status of those that failed.
func (r *requests) texts() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		text := "list@" + one.version
		if one.watch {
			text = "watch@" + one.version
		}
		if limit := one.query.Get("limit"); limit != "" {
			text += " limit=" + limit
		}
		for _, parameter := range []string{"resourceVersionMatch", "labelSelector", "fieldSelector"} {
			if value := one.query.Get(parameter); value != "" {
				text += " " + value
			}
		}
		if one.initialEvents {
			text += " initial events"
		}
		if one.status != http.StatusOK {
			text += fmt.Sprintf(" (status %d)", one.status)
		}
		all = append(all, text)
	}
	return all
}

// openWatches returns the shard selectors of the watches that are open.
func (r *requests) openWatches() (selectors []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		if one.watch && one.open && one.status == http.StatusOK {
			selectors = append(selectors, one.shards)
		}
	}
	return selectors
}

// paths returns the paths of all requests.
func (r *requests) paths() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	paths := map[string]bool{}
	for _, one := range r.all {
		paths[one.path] = true
	}
	return paths
}

// count returns the numbers of successful lists, watches and WatchLists.
func (r *requests) count() (lists, watches, watchLists int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		switch {
		case one.status != http.StatusOK:
		case one.initialEvents:
			watchLists++
		case one.watch:
			watches++
		default:
			lists++
		}
	}
	return lists, watches, watchLists
}

// fullStates returns the number of successful lists and WatchLists.
func (r *requests) fullStates() int {
	lists, _, watchLists := r.count()
	return lists + watchLists
}

// watchedServers returns how many successful watches and WatchLists each server received.
func (r *requests) watchedServers() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	servers := map[string]int{}
	for _, one := range r.all {
		if one.watch && one.status == http.StatusOK {
			servers[one.server]++
		}
	}
	return servers
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
