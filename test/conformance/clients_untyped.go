// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kinformer/kinformer/fake"
)

// widgets returns a custom resource with two versions, in a group named after the Namespace.
func widgets(namespace string) fake.CustomResource {
	return fake.CustomResource{Group: namespace + ".example.com", Versions: []string{"v1", "v1beta1"}, Kind: "Widget", StatusSubresource: true}
}

// testDynamicClient defines a custom resource, writes objects in one version and reads them in
// another.
func testDynamicClient(config *rest.Config) func(*testing.T) {
	return func(t *testing.T) {
		_, namespace := clientset(t, config)
		client, err := dynamic.NewForConfig(config)
		must(t, err)
		custom := widgets(namespace)
		define(t, client, custom)
		v1 := schema.GroupVersionResource{Group: custom.Group, Version: "v1", Resource: "widgets"}
		beta := v1
		beta.Version = "v1beta1"
		ctx, objects := t.Context(), client.Resource(v1).Namespace(namespace)
		eventually(t, func() error {
			_, err := client.Resource(beta).List(ctx, metav1.ListOptions{})
			return err
		})

		list, err := objects.List(ctx, metav1.ListOptions{})
		must(t, err)
		w, err := client.Resource(beta).Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		must(t, err)
		widget := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": custom.Group + "/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "a", "finalizers": []any{"example.com/f"}},
			"spec":     map[string]any{"size": int64(3), "parts": []any{"x", 1.5, true, nil}},
			"status":   map[string]any{"ready": true},
		}}
		created, err := objects.Create(ctx, widget, metav1.CreateOptions{})
		must(t, err)
		if created.Object["status"] != nil || created.GetGeneration() != 1 {
			t.Errorf("create: got %v", created.Object)
		}
		created.Object["status"] = map[string]any{"ready": true}
		created.Object["spec"] = map[string]any{"size": int64(9)}
		updated, err := objects.UpdateStatus(ctx, created, metav1.UpdateOptions{})
		must(t, err)
		if size, _, _ := unstructured.NestedInt64(updated.Object, "spec", "size"); size != 3 || updated.GetGeneration() != 1 {
			t.Errorf("update of the status changed the spec: %v", updated.Object)
		}
		_, err = objects.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":4}}`), metav1.PatchOptions{})
		must(t, err)
		older, err := client.Resource(beta).Namespace(namespace).Get(ctx, "a", metav1.GetOptions{})
		must(t, err)
		ready, _, _ := unstructured.NestedBool(older.Object, "status", "ready")
		size, _, _ := unstructured.NestedInt64(older.Object, "spec", "size")
		if older.GetAPIVersion() != custom.Group+"/v1beta1" || size != 4 || !ready || older.GetGeneration() != 2 {
			t.Errorf("get in v1beta1: got %v", older.Object)
		}
		must(t, objects.Delete(ctx, "a", metav1.DeleteOptions{}))
		_, err = objects.Patch(ctx, "a", types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/finalizers"}]`), metav1.PatchOptions{})
		must(t, err)
		if _, err := objects.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("get after delete without finalizers: got %v, want NotFound", err)
		}
		expectEvents(t, w, "ADDED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "DELETED a")
	}
}

// define creates a CustomResourceDefinition and waits until it is established.
func define(t *testing.T, client dynamic.Interface, custom fake.CustomResource) {
	t.Helper()
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	definition, err := definitions.Create(t.Context(), custom.Definition(), metav1.CreateOptions{})
	must(t, err)
	eventually(t, func() error {
		current, err := definitions.Get(t.Context(), definition.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(current.Object, "status", "conditions")
		if text := fmt.Sprint(conditions); !strings.Contains(text, "Established") {
			return fmt.Errorf("custom resource not established: %s", text)
		}
		return nil
	})
}

// eventually calls try until it succeeds, and fails the test after requestTimeout.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, requestTimeout, true, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}

// testMetadataClient reads and writes the metadata of Pods.
func testMetadataClient(config *rest.Config) func(*testing.T) {
	return func(t *testing.T) {
		typed, namespace := clientset(t, config)
		client, err := metadata.NewForConfig(config)
		must(t, err)
		ctx, pods := t.Context(), client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(namespace)
		created, err := typed.CoreV1().Pods(namespace).Create(ctx, pod("a"), metav1.CreateOptions{})
		must(t, err)
		w, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: created.ResourceVersion})
		must(t, err)
		list, err := pods.List(ctx, metav1.ListOptions{})
		must(t, err)
		if len(list.Items) != 1 || list.Items[0].UID != created.UID || list.ResourceVersion == "" {
			t.Errorf("list: got %+v", list)
		}
		patched, err := pods.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`), metav1.PatchOptions{})
		must(t, err)
		got, err := pods.Get(ctx, "a", metav1.GetOptions{})
		must(t, err)
		if patched.Annotations["a"] != "b" || got.ResourceVersion != patched.ResourceVersion {
			t.Errorf("patch: got %+v, then get: got %+v", patched, got)
		}
		must(t, pods.Delete(ctx, "a", metav1.DeleteOptions{}))
		expectEvents(t, w, "MODIFIED a", "MODIFIED a", "DELETED a")
	}
}

// testRESTMapper resolves kinds, and the names and short names of resources.
func testRESTMapper(config *rest.Config) func(*testing.T) {
	return func(t *testing.T) {
		typed, namespace := clientset(t, config)
		client, err := dynamic.NewForConfig(config)
		must(t, err)
		custom := widgets(namespace)
		define(t, client, custom)
		cached := memory.NewMemCacheClient(typed.Discovery())
		eventually(t, func() error {
			cached.Invalidate()
			_, err := cached.ServerResourcesForGroupVersion(custom.Group + "/v1beta1")
			return err
		})
		deferred := restmapper.NewDeferredDiscoveryRESTMapper(cached)
		expanded := restmapper.NewShortcutExpander(deferred, cached, func(warning string) { t.Log(warning) })
		for kind, want := range map[schema.GroupKind]string{
			{Kind: "Pod"}:                       "/v1, Resource=pods namespace",
			{Kind: "Node"}:                      "/v1, Resource=nodes root",
			{Group: "apps", Kind: "Deployment"}: "apps/v1, Resource=deployments namespace",
			{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:               "networking.k8s.io/v1, Resource=networkpolicies namespace",
			{Group: custom.Group, Kind: "Widget"}:                             custom.Group + "/v1, Resource=widgets namespace",
			{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: "apiextensions.k8s.io/v1, Resource=customresourcedefinitions root",
		} {
			mapping, err := deferred.RESTMapping(kind)
			if err != nil {
				t.Error(err)
				continue
			}
			if got := mapping.Resource.String() + " " + string(mapping.Scope.Name()); got != want {
				t.Errorf("%s maps to %s, want %s", kind, got, want)
			}
		}
		for name, want := range map[string]string{
			"po": "pods", "deploy": "deployments", "widget": "widgets", "ns": "namespaces", "crd": "customresourcedefinitions",
		} {
			found, err := expanded.ResourceFor(schema.GroupVersionResource{Resource: name})
			if err != nil || found.Resource != want {
				t.Errorf("%s expands to %v (%v), want %s", name, found, err, want)
			}
		}
		if _, err := deferred.RESTMapping(schema.GroupKind{Kind: "Unicorn"}); !meta.IsNoMatchError(err) {
			t.Errorf("unknown kind: got %v, want NoMatch", err)
		}
		if version, err := typed.Discovery().ServerVersion(); err != nil || version.Major != "1" {
			t.Errorf("got server version %v, %v, want 1.x", version, err)
		}
	}
}
