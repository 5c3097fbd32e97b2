// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
)

// bombLimit is how much the informer may allocate for a list with one Pod of 6 MB.
const bombLimit = 600 << 20

// serveBomb serves a list of a good Pod and of one with two million empty containers, with gzip.
func serveBomb(t *testing.T) *rest.Config {
	t.Helper()
	pod := func(name, containers string) string {
		return `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"` + name + `","namespace":"ns","uid":"` + name + `","resourceVersion":"4"},"spec":{"containers":[` + containers + `]}}`
	}
	bomb := pod("bomb", strings.Repeat("{},", 2<<20-1)+"{}")
	list := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[` + bomb + "," + pod("good", `{"name":"c"}`) + `]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Has("watch") {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		zipped := gzip.NewWriter(w)
		_, _ = zipped.Write([]byte(list))
		_ = zipped.Close()
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	cache.EnableStreaming(config)
	return config
}

// TestObjectOfEmptyElementsIsNotDecoded lists a Pod of 6 MB, 6 kB with gzip, that would take 3 GB
// decoded. It is quarantined and named, and the other Pod is stored.
func TestObjectOfEmptyElementsIsNotDecoded(t *testing.T) {
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprintf("typed, packed=%v", packed), func(t *testing.T) {
			config := serveBomb(t)
			pods := cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods(""))
			runBomb(t, cache.NewSharedInformer(pods, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Packed: packed}))
		})
		t.Run(fmt.Sprintf("unstructured, packed=%v", packed), func(t *testing.T) {
			config := serveBomb(t)
			pods := cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("pods")))
			example := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
			runBomb(t, cache.NewSharedInformer(pods, example, cache.InformerOptions[*unstructured.Unstructured]{Packed: packed}))
		})
	}
}

func runBomb[T cache.Object](t *testing.T, informer *cache.SharedInformer[T]) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start(t, informer)
	if err := informer.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > bombLimit {
		t.Errorf("the list allocated %d MiB, want %d at most", allocated>>20, bombLimit>>20)
	}
	status := informer.Status()
	if status.Store.Objects != 1 || len(status.Store.QuarantinedKeys) != 1 || status.Store.QuarantinedKeys[0].Key != "ns/bomb" ||
		!strings.Contains(status.Store.QuarantinedKeys[0].Err.Error(), "Limits.Decoded") || !errors.Is(status.Store.QuarantinedKeys[0].Err, cache.ErrNotStored) {
		t.Errorf("%d objects, quarantined %v", status.Store.Objects, status.Store.QuarantinedKeys)
	}
}
