// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
)

func TestRequestsNeedTheToken(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{Token: "secret"})
	list := func(token string) error {
		config := server.Config()
		config.BearerToken = token
		client, err := kubernetes.NewForConfig(config)
		must(t, err)
		_, err = client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := list(server.Config().BearerToken); err != nil {
		t.Errorf("list with the token: %v", err)
	}
	for _, token := range []string{"", "wrong", "secret2"} {
		if err := list(token); !apierrors.IsUnauthorized(err) {
			t.Errorf("list with token %q: got %v, want Unauthorized", token, err)
		}
	}
	for path, want := range map[string]int{"/healthz": 200, "/livez": 200, "/readyz": 200, "/version": 401, "/apis": 401, "/nowhere": 401} {
		if code, _, body := request(t, "GET", server.URL()+path, ""); code != want {
			t.Errorf("%s without a token: got %d %s, want %d", path, code, body, want)
		}
	}
}

func TestTLSServesHTTP2(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{TLS: true})
	client, err := rest.HTTPClientFor(server.Config())
	must(t, err)
	defer client.CloseIdleConnections()
	resp, err := client.Do(mustRequest(t, server.URL()+"/api/v1/pods"))
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
		t.Errorf("got %d over %s, want 200 over HTTP/2", resp.StatusCode, resp.Proto)
	}
	untrusting := &http.Transport{}
	defer untrusting.CloseIdleConnections()
	if resp, err := untrusting.RoundTrip(mustRequest(t, server.URL()+"/api/v1/pods")); err == nil {
		resp.Body.Close()
		t.Error("client without the CA trusts the certificate")
	}
}
