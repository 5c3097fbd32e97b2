// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestErrorOfAPageNamesItsCause breaks the connection of the request for the second page. The error
// has a text without the continue token, but with the cause, which the tap hides from the client.
func TestErrorOfAPageNamesItsCause(t *testing.T) {
	for _, cause := range []error{syscall.ECONNRESET, syscall.ECONNREFUSED} {
		t.Run(cause.Error(), func(t *testing.T) {
			f := cachetest.Formats["JSON"]
			page := f.Encode(&corev1.NodeList{
				TypeMeta: cachetest.TypeMeta("NodeList"),
				ListMeta: metav1.ListMeta{ResourceVersion: "3", Continue: "token"},
				Items:    []corev1.Node{*cachetest.Node("a", "1")},
			})
			s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, page)}, nil)
			config := s.Config()
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return transportFunc(func(r *http.Request) (*http.Response, error) {
					if r.URL.Query().Has("continue") {
						return nil, &net.OpError{Op: "read", Net: "tcp", Err: cause}
					}
					return next.RoundTrip(r)
				})
			})
			cache.EnableStreaming(config)
			h := cachetest.RunOverNetwork(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()), &corev1.Node{})
			err := cachetest.Next(t, h.Errors)
			if text := fmt.Sprint(err); !strings.Contains(text, cause.Error()) || strings.Contains(text, "token") {
				t.Errorf("error %v, want %q without the token", err, cause)
			}
		})
	}
}
