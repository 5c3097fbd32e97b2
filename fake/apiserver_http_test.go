// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake"
)

// request sends an HTTP request and returns the status code, header and body of the response.
func request(t *testing.T, method, url, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	resp, text, err := send(t, method, url, body, header...)
	must(t, err)
	return resp.StatusCode, resp.Header, text
}

// send sends an HTTP request on a new connection and returns the response with the body up to its
// end or an error.
func send(t *testing.T, method, url, body string, header ...string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, string(data), err
}

func TestHTTPStatusCodes(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	pods := server.URL() + "/api/v1/namespaces/ns/pods"
	must(t, server.Create(pod("a")))
	for name, tc := range map[string]struct {
		method, url, body string
		header            []string
		code              int
		text              string
	}{
		"healthy":              {"GET", server.URL() + "/readyz", "", nil, 200, "ok"},
		"unknown path":         {"GET", server.URL() + "/nowhere", "", nil, 404, "404 page not found"},
		"unknown resource":     {"GET", server.URL() + "/api/v1/unicorns", "", nil, 404, "the server could not find the requested resource"},
		"namespaced node":      {"GET", server.URL() + "/api/v1/namespaces/ns/nodes", "", nil, 404, "the server could not find the requested resource"},
		"method on collection": {"PUT", pods, "{}", nil, 405, `"reason":"MethodNotAllowed"`},
		"method on object":     {"POST", pods + "/a", "{}", nil, 405, `"reason":"MethodNotAllowed"`},
		"subresource":          {"GET", pods + "/a/log", "", nil, 404, `"reason":"NotFound"`},
		"status":               {"GET", pods + "/a/status", "", nil, 200, `"phase":"Pending"`},
		"malformed JSON":       {"POST", pods, "{", nil, 400, "the object provided is unrecognized (must be of type Pod)"},
		"another kind":         {"POST", pods, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"x"}}`, nil, 400, "cannot be handled as a Pod"},
		"unknown body type":    {"POST", pods, "x", []string{"Content-Type", "text/plain"}, 415, "UnsupportedMediaType"},
		"large body":           {"POST", pods, strings.Repeat(" ", 4<<20), nil, 413, "RequestEntityTooLarge"},
		"unknown accept type":  {"GET", pods, "", []string{"Accept", "text/html"}, 406, "only the following media types"},
		"kubectl's types":      {"GET", pods, "", []string{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}, 200, `"kind":"PodList"`},
		"table":                {"GET", pods, "", []string{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}, 406, "only the following media types"},
		"any type":             {"GET", pods, "", []string{"Accept", "text/html;q=0.9, */*;q=0.8"}, 200, `"kind":"PodList"`},
		"preferred type":       {"GET", pods, "", []string{"Accept", "application/json;q=0.5,application/vnd.kubernetes.protobuf"}, 200, "k8s\x00"},
		"bad query":            {"GET", pods + "?limit=x", "", nil, 400, "BadRequest"},
		"body without kind":    {"POST", pods, `{"metadata":{"name":"n"}}`, nil, 201, `"kind":"Pod"`},
	} {
		code, header, body := request(t, tc.method, tc.url, tc.body, tc.header...)
		if code != tc.code || !strings.Contains(body, tc.text) {
			t.Errorf("%s: got %d %s %q, want %d with %q", name, code, header.Get("Content-Type"), body, tc.code, tc.text)
		}
		if status := (metav1.Status{}); code >= 400 && !strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
			if err := json.Unmarshal([]byte(body), &status); err != nil || int(status.Code) != code || status.Kind != "Status" {
				t.Errorf("%s: got body %q, want a Status with code %d (%v)", name, body, code, err)
			}
		}
	}
}

func TestLargeListsAreCompressed(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	for i := range 100 {
		p := fullPod(fmt.Sprint("p", i))
		p.Annotations["filler"] = strings.Repeat("x", 2000)
		must(t, server.Create(p))
	}
	url := server.URL() + "/api/v1/pods"
	_, header, plain := request(t, "GET", url, "")
	if header.Get("Content-Encoding") != "" || len(plain) < 128<<10 {
		t.Fatalf("got %q, %d bytes", header.Get("Content-Encoding"), len(plain))
	}
	_, header, zipped := request(t, "GET", url, "", "Accept-Encoding", "gzip")
	if header.Get("Content-Encoding") != "gzip" || len(zipped) > len(plain)/4 {
		t.Errorf("got %q, %d bytes of %d", header.Get("Content-Encoding"), len(zipped), len(plain))
	}
	_, header, _ = request(t, "GET", url+"?limit=1", "", "Accept-Encoding", "gzip")
	if header.Get("Content-Encoding") != "" {
		t.Error("small body is compressed")
	}
	_, header, _ = request(t, "GET", url, "", "Accept-Encoding", "gzip;q=0")
	if header.Get("Content-Encoding") != "" {
		t.Error("body is compressed for a client that refuses gzip")
	}
	list, err := clientFor(t, server, runtime.ContentTypeProtobuf).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 100 {
		t.Errorf("got %d items, %v, want 100", len(list.Items), err)
	}
}
