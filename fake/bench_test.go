// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/fake"
)

// benchServer starts a server and closes it at the end of the benchmark.
func benchServer(b *testing.B) *fake.APIServer {
	b.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return server
}

// get sends a GET and returns the response body.
func get(b *testing.B, server *fake.APIServer, path, accept string) io.ReadCloser {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL()+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("GET %s: %v, %v", path, resp, err)
	}
	return resp.Body
}

// largePod returns a Pod of about 5 KB.
func largePod(i int) *corev1.Pod {
	p := fullPod(fmt.Sprintf("pod-%05d", i))
	p.Spec.Containers[0].Env = nil
	for n := range 40 {
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", n), Value: strings.Repeat("v", 90)})
	}
	return p
}

// BenchmarkList20000 lists 20,000 Pods of 5 KB.
func BenchmarkList20000(b *testing.B) {
	server := benchServer(b)
	for i := range 20_000 {
		if err := server.Create(largePod(i)); err != nil {
			b.Fatal(err)
		}
	}
	for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		b.Run(strings.TrimPrefix(accept, "application/"), func(b *testing.B) {
			for b.Loop() {
				body := get(b, server, "/api/v1/pods", accept)
				n, err := io.Copy(io.Discard, body)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(n)
				_ = body.Close()
			}
		})
	}
}

// BenchmarkWatchFanOut measures one write and its delivery to 1,000 watchers.
func BenchmarkWatchFanOut(b *testing.B) {
	const watchers = 1000
	server := benchServer(b)
	received := make(chan struct{}, watchers)
	for range watchers {
		body := get(b, server, "/api/v1/pods?watch=true&resourceVersion=1", "application/json")
		go func() {
			defer func() { _ = body.Close() }()
			lines := bufio.NewReaderSize(body, 16<<10)
			for {
				if _, err := lines.ReadSlice('\n'); err != nil {
					return
				}
				received <- struct{}{}
			}
		}()
	}
	p := largePod(0)
	if err := server.Create(p); err != nil {
		b.Fatal(err)
	}
	for range watchers {
		<-received
	}
	n := 0
	for b.Loop() {
		n++
		p.Annotations["n"] = fmt.Sprint(n)
		if err := server.Update(p); err != nil {
			b.Fatal(err)
		}
		for range watchers {
			<-received
		}
	}
}
