// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reader_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/reader"
	"github.com/kinformer/kinformer/fake"
)

// checkRefusal estimates the resources of a server that fails.
func checkRefusal(t *testing.T, name string, client *cluster.Client, want bool) {
	t.Helper()
	_, err := reader.EstimateResource(client, pods, "", accept)
	if err == nil || reader.IsRefusal(err) != want {
		t.Errorf("%s: error %v, a refusal: %v, want %v", name, err, reader.IsRefusal(err), want)
	}
}

func TestForbiddenResourceIsARefusal(t *testing.T) {
	h := start(t, 1)
	r := h.Resource(h.client, "pods")
	for _, c := range []struct {
		err     error
		refusal bool
	}{
		{fake.Forbidden(), true},
		{apierrors.NewMethodNotSupported(corev1.Resource("pods"), "list"), true},
		{apierrors.NewServiceUnavailable("down"), true},
		{apierrors.NewUnauthorized("who"), false},
	} {
		h.InjectFault(1, nil, fake.Fault{Err: c.err})
		_, err := reader.EstimateResource(h.client, r, "", accept)
		if err == nil || err.Error() != c.err.Error() || reader.IsRefusal(err) != c.refusal {
			t.Errorf("error %v, refusal %v, want %v, %v", err, reader.IsRefusal(err), c.err, c.refusal)
		}
	}
	h.InjectFault(1, nil, fake.Fault{CutAfterBytes: -1})
	if _, err := reader.EstimateResource(h.client, r, "", accept); err == nil || reader.IsRefusal(err) {
		t.Errorf("broken connection: error %v, refusal %v", err, reader.IsRefusal(err))
	}
}

func TestInvalidAnswerIsARefusal(t *testing.T) {
	checkRefusal(t, "content type", serve(t, "text/html", "<html>"), true)
	checkRefusal(t, "not JSON", serve(t, "application/json", `{"items":[nothing]}`), true)
	checkRefusal(t, "no limit", serve(t, "application/json", list("", 2)), true)
}

func TestAnswerThatIsTooLateIsARefusal(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	checkRefusal(t, "timeout", connect(t, t.Context(), server, cluster.Options{QPS: 1e6, Timeout: time.Millisecond}), true)
}

func TestUnreachableServerIsNoRefusal(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	checkRefusal(t, "closed", connect(t, t.Context(), server, cluster.Options{QPS: 1e6}), false)
}

func TestEndOfTheCommandIsNoRefusal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	checkRefusal(t, "cancelled", connect(t, ctx, server, cluster.Options{QPS: 1e6}), false)
}

// connect returns a client of a server.
func connect(t *testing.T, ctx context.Context, server *httptest.Server, options cluster.Options) *cluster.Client { //nolint:revive // ctx is that of the client
	t.Helper()
	client, err := cluster.NewClient(ctx, &rest.Config{Host: server.URL}, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
