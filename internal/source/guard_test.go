// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/omit"
)

// checkUpdate returns the error of a guard for an update in JSON, of an object whose state the
// store has.
func checkUpdate(t *testing.T, goType reflect.Type, urlPath string, object any, path string) error {
	t.Helper()
	fields, err := omit.New(goType, []string{path}, true)
	if err != nil {
		t.Fatal(err)
	}
	always := &StoreState{Running: func() bool { return true }, Has: func(string, string, string) bool { return true }}
	s := streamSource{decoded: decodedSource{omit: fields, objects: codec.ObjectType{GoType: goType}}}
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	request := &http.Request{Method: http.MethodPut, URL: &url.URL{Path: urlPath}, Header: http.Header{"Content-Type": {"application/json"}}}
	return s.guard(always).Check(request, append(body, '\n'))
}

// TestGuardChecksWhatAnUpdateWrites covers subresources, other versions of an API, and names that
// look like a subresource.
func TestGuardChecksWhatAnUpdateWrites(t *testing.T) {
	metadata := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u", ResourceVersion: "7"}
	}
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metadata(name)}
	}
	withoutUID := pod("a")
	withoutUID.UID = ""
	pods, untyped := reflect.TypeFor[*corev1.Pod](), reflect.TypeFor[*unstructured.Unstructured]()
	autoscaler := &autoscalingv1.HorizontalPodAutoscaler{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "HorizontalPodAutoscaler"}, ObjectMeta: metadata("a"),
	}
	scale := &autoscalingv1.Scale{TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}, ObjectMeta: metadata("a")}
	for _, test := range []struct {
		name    string
		goType  reflect.Type
		urlPath string
		object  any
		path    string
		refused bool
	}{
		{"object", pods, "/api/v1/namespaces/ns/pods/a", pod("a"), "spec.nodeName", true},
		{"prefix of a proxy", pods, "/clusters/c/api/v1/namespaces/ns/pods/a", pod("a"), "spec.nodeName", true},
		{"spec, by status", pods, "/api/v1/namespaces/ns/pods/a/status", pod("a"), "spec.nodeName", false},
		{"status, by status", pods, "/api/v1/namespaces/ns/pods/a/status", pod("a"), "status.conditions", true},
		{"metadata, by status", pods, "/api/v1/namespaces/ns/pods/a/status", pod("a"), "metadata.annotations", true},
		{"metadata, by finalize", pods, "/api/v1/namespaces/ns/pods/a/finalize", pod("a"), "metadata.annotations", true},
		{"named status", pods, "/api/v1/namespaces/ns/pods/status", pod("status"), "spec.nodeName", true},
		{"status of one named status", pods, "/api/v1/namespaces/ns/pods/status/status", pod("status"), "spec.nodeName", false},
		{"without a UID", pods, "/api/v1/namespaces/ns/pods/a", withoutUID, "spec.nodeName", false},
		{"not an object", pods, "/api/v1/namespaces/ns/pods/a", []string{"a"}, "spec.nodeName", false},
		{"another version", reflect.TypeFor[*autoscalingv2.HorizontalPodAutoscaler](), "/apis/autoscaling/v1/namespaces/ns/horizontalpodautoscalers/a", autoscaler, "spec.metrics", false},
		{"the same version", reflect.TypeFor[*autoscalingv1.HorizontalPodAutoscaler](), "/apis/autoscaling/v1/namespaces/ns/horizontalpodautoscalers/a", autoscaler, "spec.minReplicas", true},
		{"scale of typed objects", pods, "/apis/apps/v1/namespaces/ns/deployments/a/scale", scale, "metadata.annotations", false},
		{"scale of untyped objects", untyped, "/apis/apps/v1/namespaces/ns/deployments/a/scale", scale, "metadata.annotations", false},
		{"scale of metadata", reflect.TypeFor[*metav1.PartialObjectMetadata](), "/apis/apps/v1/namespaces/ns/deployments/a/scale", scale, "metadata.annotations", false},
		{"untyped", untyped, "/api/v1/namespaces/ns/pods/a", pod("a"), "metadata.annotations", true},
		{"metadata only", reflect.TypeFor[*metav1.PartialObjectMetadata](), "/api/v1/namespaces/ns/pods/a", pod("a"), "metadata.annotations", true},
	} {
		err := checkUpdate(t, test.goType, test.urlPath, test.object, test.path)
		if errors.Is(err, ErrOmittedFields) != test.refused || err != nil && !test.refused {
			t.Errorf("%s: %v, want refused: %v", test.name, err, test.refused)
		}
		if err != nil && !strings.Contains(err.Error(), "to remove one of them on purpose, send a patch with it as null") {
			t.Errorf("%s: the error does not say how to remove a field: %v", test.name, err)
		}
	}
}
