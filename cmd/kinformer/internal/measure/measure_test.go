// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/measure"
)

// TestMain runs the tests, or a child process of them.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != measure.ChildArg {
		os.Exit(m.Run())
	}
	if len(os.Environ()) != 1 { // but the feature gate
		fmt.Fprintln(os.Stderr, "environment of the child process:", os.Environ())
		os.Exit(1)
	}
	if err := measure.Child(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// configMap returns the i-th object of a collection: a ConfigMap of about a kilobyte.
func configMap(i int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprint("namespace-", i%10), Name: fmt.Sprint("name-", i), UID: "uid", ResourceVersion: fmt.Sprint(1 + i),
			Labels:        map[string]string{"app.kubernetes.io/name": "name", "app.kubernetes.io/part-of": "test"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))}},
		},
		Data: map[string]string{"key": strings.Repeat(fmt.Sprint(i, " "), 100)},
	}
}

// configMaps returns a collection of a generated type.
func configMaps(t *testing.T, n int, contentType string) *collection.Collection {
	t.Helper()
	c := &collection.Collection{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap", ListKind: "ConfigMapList",
		Namespaced: true, ContentType: contentType, ResourceVersion: fmt.Sprint(n + 1),
	}
	for i := range n {
		encode := func() ([]byte, error) { return json.Marshal(configMap(i)) }
		if contentType == runtime.ContentTypeProtobuf {
			encode = configMap(i).Marshal
		}
		item, err := encode()
		if err != nil {
			t.Fatal(err)
		}
		c.Items = append(c.Items, item)
		c.WireBytes += int64(len(item))
	}
	return c
}

// widgets returns a collection of custom resources.
func widgets(n int) *collection.Collection {
	c := &collection.Collection{
		Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}, Kind: "Widget", ListKind: "WidgetList",
		ContentType: runtime.ContentTypeJSON, ResourceVersion: fmt.Sprint(n + 1),
	}
	for i := range n {
		c.Items = append(c.Items, fmt.Appendf(nil, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w%d","uid":"u","resourceVersion":"%d"},"spec":{"size":%d}}`, i, 1+i, i))
	}
	return c
}

func TestVariantsSyncFromEveryFormat(t *testing.T) {
	some := []measure.Variant{measure.ClientGo, measure.ClientGoWatchList, measure.Packed}
	for name, c := range map[string]struct {
		*collection.Collection
		variants []measure.Variant
	}{
		"protobuf":         {configMaps(t, 700, runtime.ContentTypeProtobuf), measure.Variants()},
		"JSON":             {configMaps(t, 700, runtime.ContentTypeJSON), some},
		"custom resources": {widgets(700), some},
		"empty":            {configMaps(t, 0, runtime.ContentTypeProtobuf), some},
	} {
		for _, v := range c.variants {
			t.Run(name+"/"+string(v), func(t *testing.T) {
				t.Parallel()
				result, err := measure.Run(t.Context(), c.Collection, v, 0)
				if err != nil {
					t.Fatal(err)
				}
				if result.Variant != v || result.Objects != len(c.Items) || result.CPU <= 0 || result.Duration <= 0 {
					t.Errorf("result %+v, want %s with %d objects", result, v, len(c.Items))
				}
				if result.HeapBytes < 0 || result.PeakRSSBytes < 0 {
					t.Errorf("result %+v has negative memory", result)
				}
			})
		}
	}
}

// TestVariantsDiffer checks that the variants are the informers that their names say.
func TestVariantsDiffer(t *testing.T) {
	if raceDetector {
		t.Skip("takes long, and measures other processes")
	}
	c := configMaps(t, 5000, runtime.ContentTypeProtobuf)
	heap := make(map[measure.Variant]int64)
	for _, v := range measure.Variants() {
		result, err := measure.Run(t.Context(), c, v, 0)
		if err != nil {
			t.Fatal(err)
		}
		heap[v] = result.HeapBytes
	}
	for _, less := range [][2]measure.Variant{
		{measure.Live, measure.ClientGo}, {measure.Live, measure.ClientGoWatchList},
		{measure.ShareEqual, measure.Live}, {measure.Omitted, measure.Live},
		{measure.Packed, measure.ShareEqual}, {measure.PackedOmitted, measure.Packed},
	} {
		if heap[less[0]] >= heap[less[1]] {
			t.Errorf("%s keeps %d bytes, %s %d", less[0], heap[less[0]], less[1], heap[less[1]])
		}
	}
}

func TestErrorNamesVariantAndResource(t *testing.T) {
	c := configMaps(t, 2, runtime.ContentTypeProtobuf)
	c.Items[1] = c.Items[0] // of which an informer makes one object
	_, err := measure.Run(t.Context(), c, measure.Live, 0)
	if want := "measure kinformer of configmaps: 1 objects in the informer, want 2"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	_, err = measure.Run(t.Context(), c, "other", 0)
	if want := `measure other of configmaps: unknown variant "other"`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestFailingInformerIsAnError(t *testing.T) {
	otherKind := configMaps(t, 2, runtime.ContentTypeProtobuf)
	otherKind.ListKind = "SecretList"
	undecodable := configMaps(t, 2, runtime.ContentTypeProtobuf)
	undecodable.Items[1] = []byte("\xff")
	for v, c := range map[measure.Variant]*collection.Collection{measure.Live: otherKind, measure.ClientGo: undecodable} {
		_, err := measure.Run(t.Context(), c, v, 0)
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("measure %s of configmaps: child process: exit status 1: initial sync: ", v)) {
			t.Errorf("error %v, want the informer's", err)
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := measure.Run(ctx, configMaps(t, 1, runtime.ContentTypeProtobuf), measure.ClientGo, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
