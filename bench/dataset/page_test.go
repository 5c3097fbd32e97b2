// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestPages requests pages of three objects.
func TestPages(t *testing.T) {
	for query, want := range map[string]Page{
		"":                          {0, 3},
		"limit=1":                   {0, 1},
		"limit=2&continue=1":        {1, 3},
		"limit=2&continue=2":        {2, 3},
		"limit=5":                   {0, 3},
		"limit=1&resourceVersion=0": {0, 3},
	} {
		if got := PageOf(httptest.NewRequest(http.MethodGet, "/api/v1/pods?"+query, nil), 3); got != want {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
}

// TestPageEqualsTheServers compares a page with that of an API server, which says how many objects
// it lacks.
func TestPageEqualsTheServers(t *testing.T) {
	pods := NewPods(3, 1).Take(3)
	want := encodeAsServer(t, &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: Version(3), Continue: "2", RemainingItemCount: ptr.To(int64(1))},
		Items:    []corev1.Pod{*pods[1]},
	})
	body := encodePods(t, pods).List(3, Page{1, 2})
	if got, err := io.ReadAll(&body); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the body differs from the server's, error %v", err)
	}
	packed, err := PackPods(3, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := packed.WriteList(&got, 3, Page{1, 2}); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the packed body differs from the server's, error %v", err)
	}
}
