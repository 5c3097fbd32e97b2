// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package clustertest is the harness of the command's tests: a server that records its requests.
package clustertest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/fake"
)

// Server is an API server that records the requests for resources.
type Server struct {
	*fake.APIServer
	t *testing.T

	mu       sync.Mutex // guards requests
	requests []string
	agents   []string
}

// Start starts a server that is closed at the end of the test.
func Start(t *testing.T, options fake.APIServerOptions) *Server {
	t.Helper()
	api, err := fake.StartAPIServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{APIServer: api, t: t}
	s.InjectFault(-1, s.record, fake.Fault{})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := api.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// record records a request. It matches none.
func (s *Server) record(r fake.APIRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents = append(s.agents, r.HTTP.UserAgent())
	if r.Resource == "" {
		return false
	}
	query := r.HTTP.URL.Query()
	words := []string{r.Verb, r.GroupResource().String(), "limit=" + query.Get("limit")}
	if query.Has("continue") {
		words = append(words, "continued")
	}
	if r.Namespace != "" {
		words = append(words, "in", r.Namespace)
	}
	for _, name := range []string{"resourceVersion", "resourceVersionMatch"} {
		if query.Has(name) {
			words = append(words, name+"="+query.Get(name))
		}
	}
	s.requests = append(s.requests, strings.Join(words, " "))
	return false
}

// Requests returns the requests for resources since the last call.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// ExpectRequests checks the requests for resources since the last call.
func (s *Server) ExpectRequests(want ...string) {
	s.t.Helper()
	if got := s.Requests(); !slices.Equal(got, want) {
		s.t.Errorf("requests:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// UserAgents returns the distinct user agents of all requests.
func (s *Server) UserAgents() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(s.agents)))
}

// Client returns a client of the server that is not slowed down, unless the options say so.
func (s *Server) Client(options cluster.Options) *cluster.Client {
	s.t.Helper()
	if options.QPS == 0 {
		options.QPS = 1e6
	}
	client, err := cluster.NewClient(s.t.Context(), s.Config(), options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(client.Close)
	return client
}

// Resource returns a resource of the server by its name.
func (s *Server) Resource(client *cluster.Client, name string) *cluster.Resource {
	s.t.Helper()
	catalog, err := client.Discover()
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := catalog.Find(name)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Requests()
	return r
}

// Create creates objects.
func (s *Server) Create(objects ...fake.Object) {
	s.t.Helper()
	for _, obj := range objects {
		if err := s.APIServer.Create(obj); err != nil {
			s.t.Fatal(err)
		}
	}
}
