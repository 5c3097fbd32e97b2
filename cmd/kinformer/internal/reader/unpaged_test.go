// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reader_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/reader"
)

const accept = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

// pods is the resource that the scripted servers serve.
var pods = &cluster.Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("pods"), Kind: "Pod", Namespaced: true, Verbs: []string{"list", "watch"}}

// serve returns a client of a server with one answer.
func serve(t *testing.T, contentType, body string) *cluster.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return connect(t, t.Context(), server, cluster.Options{QPS: 1e6})
}

// list returns a list of Pods in JSON.
func list(metadata string, items int) string {
	return fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","metadata":{%s},"items":[%s]}`, metadata, strings.TrimSuffix(strings.Repeat(`{"metadata":{"name":"a"}},`, items), ","))
}

func TestServerThatIgnoresTheLimitIsNotRead(t *testing.T) {
	_, err := reader.EstimateResource(serve(t, "application/json", list("", 2)), pods, "", accept)
	if err == nil || !strings.Contains(err.Error(), "ignores the limit") || !reader.IsRefusal(err) {
		t.Errorf("error %v", err)
	}
	_, err = (&reader.Reader{Client: serve(t, "application/json", list("", 501))}).Read(reader.Estimate{Resource: pods, Accept: accept, Objects: 1, Requests: 1, ContentType: runtime.ContentTypeJSON})
	if err == nil || !strings.Contains(err.Error(), "ignores the limit") {
		t.Errorf("error %v", err)
	}
}

func TestNumberOfObjectsMayBeUnknown(t *testing.T) {
	e, err := reader.EstimateResource(serve(t, "application/json", list(`"continue":"next"`, 1)), pods, "", accept)
	if err != nil || !e.Unknown || e.Objects != 2 {
		t.Errorf("estimate %+v, error %v, want an unknown number", e, err)
	}
}

func TestUnexpectedAnswersAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ contentType, body, want string }{
		"HTML":    {"text/html", "<html>", `unexpected content type "text/html"`},
		"no list": {"application/json", `{"kind":"Pod","apiVersion":"v1"}`, "wrong kind"},
		"cut":     {"application/json", list("", 1)[:60], "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := reader.EstimateResource(serve(t, c.contentType, c.body), pods, "", accept); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
