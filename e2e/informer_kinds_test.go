// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
)

// TestInformerOfCustomResources watches unstructured objects, with and without a kind in the
// example.
func TestInformerOfCustomResources(t *testing.T) {
	t.Parallel()
	c := shared(t)
	client := dynamic.NewForConfigOrDie(c.Config())
	ns := namespace(t, clientsetFor(t, c))
	widgets := defineWidgets(t, client, ns+".example.com")
	w := newWriter(widgetAuthor{client.Resource(widgets).Namespace(ns), widgets.GroupVersion().String()}, 30)
	w.fill(t)
	list := func(t *testing.T, config *rest.Config) cache.ListerWatcher {
		t.Helper()
		return cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(widgets).Namespace(ns))
	}
	kinded := &unstructured.Unstructured{}
	kinded.SetGroupVersionKind(widgets.GroupVersion().WithKind("Widget"))
	examples := map[string]*unstructured.Unstructured{"with kind": kinded, "without kind": {}}
	subjects := map[string][]*subject{}
	for name, example := range examples {
		subjects[name] = startSubjects(t, c, example, list)
		awaitListed(t, subjects[name])
	}
	w.write(t, 400)
	for name := range examples {
		t.Run(name, func(t *testing.T) {
			expectAllSettled(t, subjects[name], truthOf(func(ctx context.Context) ([]*unstructured.Unstructured, error) {
				return unstructuredItems(client.Resource(widgets).Namespace(ns).List(ctx, metav1.ListOptions{}))
			}), func(t *testing.T, s *subject) { expectEveryChange(t, s.recorder, w.ledger) })
		})
	}
}

// TestInformerOfMetadata watches the metadata of Pods only.
func TestInformerOfMetadata(t *testing.T) {
	t.Parallel()
	pods := newPodCollection(t, shared(t), 40)
	pods.fill(t)
	list := func(t *testing.T, config *rest.Config) cache.ListerWatcher {
		t.Helper()
		return cache.ListWatchOf(metadata.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(pods.namespace))
	}
	kinded := &metav1.PartialObjectMetadata{}
	kinded.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	examples := map[string]*metav1.PartialObjectMetadata{"with kind": kinded, "without kind": {}}
	subjects := map[string][]*subject{}
	for name, example := range examples {
		subjects[name] = startSubjects(t, pods.cluster, example, list)
		awaitListed(t, subjects[name])
	}
	pods.write(t, 400)
	for name := range examples {
		t.Run(name, func(t *testing.T) {
			expectAllSettled(t, subjects[name], pods.truth, func(t *testing.T, s *subject) { expectEveryChange(t, s.recorder, pods.ledger) })
		})
	}
}

// defineWidgets creates a CustomResourceDefinition in a group and waits until the resource is
// served.
func defineWidgets(t *testing.T, client dynamic.Interface, group string) schema.GroupVersionResource {
	t.Helper()
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	widgets := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}
	_, err := definitions.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": widgets.GroupResource().String()},
		"spec": map[string]any{
			"group": widgets.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
			"versions": []any{map[string]any{
				"name": widgets.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the custom resource is served", func(ctx context.Context) error {
		_, err := client.Resource(widgets).List(ctx, metav1.ListOptions{})
		return err
	})
	return widgets
}

// widgetAuthor writes custom resources.
type widgetAuthor struct {
	client     dynamic.ResourceInterface
	apiVersion string
}

func (a widgetAuthor) name(number int) string { return fmt.Sprint("widget-", number) }

func (a widgetAuthor) create(ctx context.Context, number int) (metav1.Object, error) {
	return a.client.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": a.apiVersion, "kind": "Widget",
		"metadata": map[string]any{"name": a.name(number), "labels": map[string]any{"number": fmt.Sprint(number)}},
		"spec":     map[string]any{"size": int64(number), "parts": []any{"lid", "spring"}},
	}}, metav1.CreateOptions{})
}

func (a widgetAuthor) change(ctx context.Context, obj metav1.Object, n int) (metav1.Object, error) {
	patch := fmt.Appendf(nil, `{"spec": {"size": %d}}`, 1000+n)
	return a.client.Patch(ctx, obj.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
}

func (a widgetAuthor) remove(ctx context.Context, obj metav1.Object) error {
	return a.client.Delete(ctx, obj.GetName(), metav1.DeleteOptions{})
}

func (a widgetAuthor) get(ctx context.Context, number int) (metav1.Object, error) {
	return a.client.Get(ctx, a.name(number), metav1.GetOptions{})
}

func unstructuredItems(list *unstructured.UnstructuredList, err error) ([]*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}
