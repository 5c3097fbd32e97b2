// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/fake"
)

func wasLeft(o servedObject) bool { return o.added == 1 && o.deleted == 1 && o.left == 1 }

// TestInformersFollowVersion stops serving a version, while the objects stay, and serves it again.
func TestInformersFollowVersion(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	client := dynamic.NewForConfigOrDie(c.Config())
	custom := fake.CustomResource{Group: "follow.example.com", Versions: []string{"v1", "v2"}, Kind: "Gadget"}
	gadgets := schema.GroupVersionResource{Group: custom.Group, Version: "v2", Resource: "gadgets"}
	h := startServed(t, c.Config(), gadgets)
	createUnstructured(t, client.Resource(definitions), custom.Definition())
	writer := startGadgets(t, client.Resource(gadgets.GroupResource().WithVersion("v1")).Namespace("default"), 0)
	for _, s := range h.subjects {
		s.awaitObjects(t, "adds the objects", writer.uids, func(o servedObject) bool { return o.added == 1 && o.deleted == 0 })
	}
	serve := func(served string) {
		patch := []byte(`[{"op": "replace", "path": "/spec/versions/1/served", "value": ` + served + `}]`)
		_, err := client.Resource(definitions).Patch(t.Context(), gadgets.GroupResource().String(), types.JSONPatchType, patch, metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	serve("false")
	for _, s := range h.subjects {
		s.awaitPhase(t, cache.PhaseNotServed)
		s.awaitObjects(t, "deletes the objects", writer.uids, wasLeft)
		s.expectNotServed(t)
	}
	t.Logf("not served %s after the change", time.Since(began))
	before := h.sent()
	h.answers.reset()
	serve("true")
	for i, s := range h.subjects {
		s.awaitObjects(t, "adds the objects again", writer.uids, func(o servedObject) bool { return o.added == 2 && o.deleted == 1 })
		if took := s.firstAfter(before[i].all).Sub(h.answers.firstListed()); took > firstRequestTimeout || took < 0 {
			t.Errorf("%s: the first request followed %s after discovery", s.name, took)
		}
	}
	writer.stop()
	if err := c.APIServer().Stop(); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	if err := c.APIServer().Start(t.Context()); err != nil { // it lists definitions before it serves their objects
		t.Fatal(err)
	}
	await(t, "an object is updated", func(ctx context.Context) error {
		namespaced := client.Resource(gadgets).Namespace("default")
		_, err := namespaced.Patch(ctx, "gadget-0", types.MergePatchType, []byte(`{"spec": {"restarted": true}}`), metav1.PatchOptions{})
		return err
	})
	for _, s := range h.subjects {
		await(t, s.name+" watches again", func(context.Context) error {
			if status := s.status(); status.Phase != cache.PhaseWatching || status.Freshness.FreshAt.Before(stopped) {
				return fmt.Errorf("status %+v", status)
			}
			return nil
		})
		s.awaitObjects(t, "keeps the objects", writer.uids, func(o servedObject) bool { return o.added == 2 && o.deleted == 1 })
	}
	t.Logf("%d discovery requests", h.answers.requests)
}

// TestInformersFollowAggregatedAPI has an aggregated API that ends to answer, answers again, and
// whose APIService is deleted at last.
func TestInformersFollowAggregatedAPI(t *testing.T) {
	t.Parallel()
	c := cluster.New(t, cluster.Options{})
	client := dynamic.NewForConfigOrDie(c.Config())
	custom := fake.CustomResource{Group: "aggregated.example.com", Versions: []string{"v1"}, Kind: "Gadget"}
	gadgets := schema.GroupVersionResource{Group: custom.Group, Version: "v1", Resource: "gadgets"}
	backend, err := fake.StartAPIServer(fake.APIServerOptions{TLS: true, CustomResources: []fake.CustomResource{custom}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = backend.Close(context.Background()) })
	isWatch := func(r fake.APIRequest) bool { return r.Verb == "watch" }
	backend.InjectFault(-1, isWatch, fake.Fault{CloseIn: 5 * time.Second})
	h := startServed(t, c.Config(), gadgets)
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	service := aggregated(t, client, backend.URL(), gadgets.GroupVersion())
	createUnstructured(t, client.Resource(services), service)
	var uids []string
	for _, name := range []string{"a", "b"} {
		gadget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": gadgets.GroupVersion().String(), "kind": "Gadget", "metadata": map[string]any{"name": name}}}
		await(t, "an object is created", func(ctx context.Context) error {
			created, err := client.Resource(gadgets).Namespace("default").Create(ctx, gadget, metav1.CreateOptions{})
			if err == nil {
				uids = append(uids, string(created.GetUID()))
			}
			return err
		})
	}
	for _, s := range h.subjects {
		s.awaitObjects(t, "adds the objects", uids, func(o servedObject) bool { return o.added == 1 && o.deleted == 0 })
	}

	backend.ClearFaults()
	backend.InjectFault(-1, nil, fake.Fault{Err: apierrors.NewServiceUnavailable("the backend")})
	await(t, "the API is unavailable", func(ctx context.Context) error {
		got, err := client.Resource(services).Get(ctx, service.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(got.Object, "status", "conditions")
		if len(conditions) == 0 || conditions[0].(map[string]any)["status"] != "False" {
			return errors.New("it is available")
		}
		return nil
	})
	for _, s := range h.subjects {
		s.awaitPhase(t, cache.PhaseRetrying)
		s.awaitObjects(t, "keeps the objects", uids, func(o servedObject) bool { return o.added == 1 && o.deleted == 0 })
		t.Logf("%s: %v; follower: %+v", s.name, s.status().Err, h.follower.Status())
	}
	if err := client.Resource(services).Delete(t.Context(), service.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, s := range h.subjects {
		s.awaitPhase(t, cache.PhaseNotServed)
		s.awaitObjects(t, "deletes the objects", uids, wasLeft)
		s.expectNotServed(t)
	}
	backend.ClearFaults()
	createUnstructured(t, client.Resource(services), service)
	for _, s := range h.subjects {
		s.awaitObjects(t, "adds the objects again", uids, func(o servedObject) bool { return o.added == 2 && o.deleted == 1 })
	}
}

// aggregated returns the APIService of an API that a server on this machine serves.
func aggregated(t *testing.T, client dynamic.Interface, server string, version schema.GroupVersion) *unstructured.Unstructured {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	createUnstructured(t, client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "services"}).Namespace("default"),
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "aggregated"},
			"spec": map[string]any{"type": "ExternalName", "externalName": "localhost"},
		}})
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": version.Version + "." + version.Group},
		"spec": map[string]any{
			"group": version.Group, "version": version.Version, "groupPriorityMinimum": int64(1000), "versionPriority": int64(10),
			"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": "default", "name": "aggregated", "port": port},
		},
	}}
}
