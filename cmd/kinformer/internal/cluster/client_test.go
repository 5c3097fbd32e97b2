// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/fake"
)

// serve returns a client of a server with a handler, whose address has a path.
func serve(t *testing.T, ctx context.Context, handler http.HandlerFunc) *cluster.Client { //nolint:revive // ctx is that of the client
	t.Helper()
	server := httptest.NewServer(http.StripPrefix("/clusters/c1", handler))
	t.Cleanup(server.Close)
	client, err := cluster.NewClient(ctx, &rest.Config{Host: server.URL + "/clusters/c1", UserAgent: "test"}, cluster.Options{QPS: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestClientSendsOneRequest(t *testing.T) {
	var got []string
	client := serve(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		got = append(got, fmt.Sprint(r.Method, r.URL, r.UserAgent(), r.Header.Get("Accept")))
		fmt.Fprint(w, "text")
	})
	response, err := client.Get("/api/v1/pods", map[string][]string{"limit": {"1"}}, runtime.ContentTypeJSON)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	want := "GET/api/v1/pods?limit=1 test application/json"
	if len(got) != 1 || strings.ReplaceAll(got[0], " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("requests %q, want %q", got, want)
	}
	if !strings.HasSuffix(client.Host(), "/clusters/c1") {
		t.Errorf("requests to %s", client.Host())
	}
}

func TestErrorIsThatOfTheServer(t *testing.T) {
	server := clustertest.Start(t, fake.APIServerOptions{})
	server.InjectFault(1, nil, fake.Fault{Err: fake.Forbidden()})
	_, err := server.Client(cluster.Options{}).Get("/api/v1/pods", nil, runtime.ContentTypeJSON) //nolint:bodyclose // fails
	if !apierrors.IsForbidden(err) || err.Error() != fake.Forbidden().Error() {
		t.Errorf("error %v", err)
	}
}

func TestErrorWithoutStatusHasTheCode(t *testing.T) {
	client := serve(t, t.Context(), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<html>proxy</html>")
	})
	_, err := client.Get("/api/v1/pods", nil, runtime.ContentTypeJSON) //nolint:bodyclose // fails
	if !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "html") {
		t.Errorf("error %v", err)
	}
}

func TestEndOfTheContextEndsARequest(t *testing.T) {
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	client := serve(t, ctx, func(_ http.ResponseWriter, r *http.Request) {
		cancel(interrupted)
		<-r.Context().Done()
	})
	if _, err := client.Get("/api/v1/pods", nil, runtime.ContentTypeJSON); !errors.Is(err, interrupted) { //nolint:bodyclose // fails
		t.Errorf("error %v, want %v", err, interrupted)
	}
}

func TestAggregatedVersionsAreThoseOfServices(t *testing.T) {
	pages := map[string]string{
		"": `{"kind":"APIServiceList","metadata":{"continue":"next"},"items":[
			{"metadata":{"name":"v1.apps"},"spec":{"group":"apps","version":"v1"}},
			{"metadata":{"name":"v1beta1.metrics.k8s.io"},"spec":{"group":"metrics.k8s.io","version":"v1beta1","service":{"name":"metrics","namespace":"kube-system"}}}]}`,
		"next": `{"kind":"APIServiceList","metadata":{},"items":[{"spec":{"group":"g","version":"v2","service":{"name":"s"}}}]}`,
	}
	client := serve(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, pages[r.URL.Query().Get("continue")])
	})
	got, err := client.AggregatedVersions()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !got[schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}] || !got[schema.GroupVersion{Group: "g", Version: "v2"}] {
		t.Errorf("aggregated: %v", got)
	}
}

func TestServerWithoutAPIServicesAggregatesNothing(t *testing.T) {
	got, err := clustertest.Start(t, fake.APIServerOptions{}).Client(cluster.Options{}).AggregatedVersions()
	if err != nil || len(got) != 0 {
		t.Errorf("aggregated: %v, error %v", got, err)
	}
}
