// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/fake"
)

// get sends a GET and returns the response body.
func get(b *testing.B, server *fake.APIServer, path, accept string) io.ReadCloser {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL()+path, nil)
	must(b, err)
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
	server := startServer(b, fake.APIServerOptions{})
	for i := range 20_000 {
		must(b, server.Create(largePod(i)))
	}
	for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		b.Run(strings.TrimPrefix(accept, "application/"), func(b *testing.B) {
			for b.Loop() {
				body := get(b, server, "/api/v1/pods", accept)
				n, err := io.Copy(io.Discard, body)
				must(b, err)
				b.SetBytes(n)
				_ = body.Close()
			}
		})
	}
}

// BenchmarkWatchFanOut measures one write and its delivery to 1,000 watchers.
func BenchmarkWatchFanOut(b *testing.B) {
	const watchers = 1000
	server := startServer(b, fake.APIServerOptions{})
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
	must(b, server.Create(p))
	for range watchers {
		<-received
	}
	n := 0
	for b.Loop() {
		n++
		p.Annotations["n"] = fmt.Sprint(n)
		must(b, server.Update(p))
		for range watchers {
			<-received
		}
	}
}

// BenchmarkWrite measures requests that write a Pod of 5 KB, or its status.
func BenchmarkWrite(b *testing.B) {
	server := startServer(b, fake.APIServerOptions{})
	client := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Pods("ns")
	n := 0
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n++
			if _, err := client.Create(b.Context(), largePod(n), metav1.CreateOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	p, err := client.Create(b.Context(), largePod(0), metav1.CreateOptions{})
	must(b, err)
	for name, write := range map[string]func() (*corev1.Pod, error){
		"update": func() (*corev1.Pod, error) {
			p.Annotations["n"] = fmt.Sprint(n)
			return client.Update(b.Context(), p, metav1.UpdateOptions{})
		},
		"status": func() (*corev1.Pod, error) {
			p.Status.Message = fmt.Sprint(n)
			return client.UpdateStatus(b.Context(), p, metav1.UpdateOptions{})
		},
		"patch": func() (*corev1.Pod, error) {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, n)
			return client.Patch(b.Context(), p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n++
				if p, err = write(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
