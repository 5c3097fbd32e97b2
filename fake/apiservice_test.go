// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/kinformer/kinformer/fake"
)

var (
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	widgetsV1   = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

// newAPIService returns the APIService of an aggregated API server.
func newAPIService(group, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": version + "." + group},
		"spec": map[string]any{
			"group": group, "version": version, "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"service": map[string]any{"namespace": "default", "name": "server"},
		},
	}}
}

// availableOf formats the condition of an APIService.
func availableOf(t *testing.T, server *fake.APIServer, name string) string {
	t.Helper()
	service := newAPIService("", "")
	service.SetName(name)
	must(t, server.Get(service))
	conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
	if len(conditions) != 1 {
		t.Fatalf("%s: got conditions %v, want one", name, conditions)
	}
	condition := conditions[0].(map[string]any)
	return strings.Join([]string{condition["type"].(string), condition["status"].(string), condition["reason"].(string)}, " ")
}

func clientOf(t *testing.T, server *fake.APIServer) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(server.Config())
	must(t, err)
	return client
}

// Each group and version has an APIService, at the version at which the server begins.
func TestAPIServicesOfBuiltInGroups(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	if version := server.ResourceVersion(); version != "1" {
		t.Errorf("the server begins at version %s, want 1", version)
	}
	_, all := discover(t, server, "/apis", "")
	want := []string{"v1."}
	for _, group := range all.Items {
		for _, version := range group.Versions {
			want = append(want, version.Version+"."+group.Name)
		}
	}
	want = slices.DeleteFunc(want, func(name string) bool { return name == "v1.apiregistration.k8s.io" })
	slices.Sort(want)
	list, err := clientOf(t, server).Resource(apiServices).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	var got []string
	for _, item := range list.Items {
		got = append(got, item.GetName())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got APIServices %q, want %q", got, want)
	}
	if got := availableOf(t, server, "v1.apps"); got != "Available True Local" {
		t.Errorf("v1.apps: got %s", got)
	}
}

// The APIServices of custom resources follow the served versions of their definitions. A client of
// the metadata alone receives their events.
func TestAPIServicesFollowDefinitions(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	client, err := metadata.NewForConfig(server.Config())
	must(t, err)
	services, err := client.Resource(apiServices).Watch(t.Context(), metav1.ListOptions{ResourceVersion: server.ResourceVersion()})
	must(t, err)
	defer services.Stop()
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for range want {
			e := <-services.ResultChan()
			got = append(got, string(e.Type)+" "+e.Object.(metav1.Object).GetName())
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got events %q, want %q", got, want)
		}
	}
	must(t, server.Create(widget.Definition()))
	expect("ADDED v1.example.com", "ADDED v1beta1.example.com")
	other := fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: "Gadget"}
	must(t, server.Create(other.Definition()))
	changed := widget
	changed.Versions = []string{"v1", "v2"}
	must(t, server.Update(changed.Definition()))
	expect("ADDED v2.example.com", "DELETED v1beta1.example.com")
	must(t, client.Resource(apiServices).Delete(t.Context(), "v2.example.com", metav1.DeleteOptions{}))
	expect("ADDED v2.example.com", "DELETED v2.example.com")
	must(t, server.Delete(widget.Definition()))
	expect("DELETED v2.example.com")
	must(t, server.Delete(other.Definition()))
	expect("DELETED v1.example.com")
}

// An aggregated API is served while its APIService exists, and answers 503 while it is not
// available.
func TestAggregatedAPI(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	must(t, server.Aggregate(widget))
	if got := availableOf(t, server, "v1.example.com"); got != "Available True Passed" {
		t.Errorf("got %s", got)
	}
	widgets := clientOf(t, server).Resource(widgetsV1)
	must(t, server.Create(newWidget("v1", "a")))
	versions := func() []string {
		_, all := discover(t, server, "/apis", "")
		return versionsOf(all, "example.com")
	}
	open := func() watch.Interface {
		w, err := widgets.Watch(t.Context(), metav1.ListOptions{ResourceVersion: server.ResourceVersion()})
		must(t, err)
		t.Cleanup(w.Stop)
		return w
	}
	w := open()

	must(t, server.SetAvailable("v1.example.com", false))
	expectNext(t, w, "closed")
	if got := versions(); !slices.Equal(got, []string{"v1 Stale", "v1beta1 Current"}) {
		t.Errorf("not available: got versions %q", got)
	}
	if _, err := widgets.List(t.Context(), metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("list: got %v, want 503", err)
	}
	response, err := http.Get(server.URL() + "/apis/example.com/v1")
	must(t, err)
	must(t, response.Body.Close())
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("discovery of the version: got %s, want 503", response.Status)
	}
	if _, err := clientOf(t, server).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1beta1", Resource: "widgets"}).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("list in the available version: %v", err)
	}

	must(t, server.SetAvailable("v1.example.com", true))
	w = open()
	services := clientOf(t, server).Resource(apiServices)
	_, err = services.Patch(t.Context(), "v1.example.com", types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"1"}}}`), metav1.PatchOptions{})
	must(t, err)
	must(t, services.Delete(t.Context(), "v1.example.com", metav1.DeleteOptions{}))
	expectNext(t, w, "closed")
	if got := versions(); !slices.Equal(got, []string{"v1beta1 Current"}) {
		t.Errorf("deleted: got versions %q", got)
	}
	if _, err := widgets.List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("list: got %v, want NotFound", err)
	}
	if err := server.SetAvailable("v1.example.com", true); !apierrors.IsNotFound(err) {
		t.Errorf("SetAvailable: got %v, want NotFound", err)
	}

	must(t, server.Create(newAPIService("example.com", "v1")))
	if list, err := widgets.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("list after the APIService is created again: %v", err)
	}
}

// The status subresource of an APIService makes its API unavailable, too, and one of a Service that
// does not exist is never available.
func TestAPIServiceOfUnknownService(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	must(t, server.Create(newAPIService("example.com", "v1")))
	if got := availableOf(t, server, "v1.example.com"); got != "Available False ServiceNotFound" {
		t.Errorf("got %s", got)
	}
	_, all := discover(t, server, "/apis", "")
	if got := versionsOf(all, "example.com"); !slices.Equal(got, []string{"v1 Stale"}) {
		t.Errorf("got versions %q", got)
	}
	later := newAPIService("example.com", "v2")
	must(t, unstructured.SetNestedField(later.Object, int64(50), "spec", "versionPriority"))
	must(t, server.Create(later))
	if _, all := discover(t, server, "/apis", ""); !slices.Equal(versionsOf(all, "example.com"), []string{"v1 Stale", "v2 Stale"}) {
		t.Errorf("got versions %q, want those of a higher priority first", versionsOf(all, "example.com"))
	}
	must(t, server.Aggregate(widget))
	must(t, server.SetAvailable("v1.example.com", true))
	must(t, server.Create(newWidget("v1", "a")))
	service := newAPIService("example.com", "v1")
	must(t, unstructured.SetNestedSlice(service.Object, []any{map[string]any{"type": "Available", "status": "False"}}, "status", "conditions"))
	must(t, server.UpdateStatus(service))
	if _, err := clientOf(t, server).Resource(widgetsV1).List(t.Context(), metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("list: got %v, want 503", err)
	}
	for _, invalid := range []func(*unstructured.Unstructured){
		func(s *unstructured.Unstructured) { s.SetName("v2.example.com") },
		func(s *unstructured.Unstructured) {
			unstructured.RemoveNestedField(s.Object, "spec", "versionPriority")
		},
		func(s *unstructured.Unstructured) {
			unstructured.RemoveNestedField(s.Object, "spec", "groupPriorityMinimum")
		},
		func(s *unstructured.Unstructured) {
			unstructured.RemoveNestedField(s.Object, "spec", "service", "name")
		},
	} {
		service := newAPIService("other.example.com", "v1")
		invalid(service)
		if err := server.Create(service); !apierrors.IsInvalid(err) {
			t.Errorf("create %v: got %v, want Invalid", service.Object, err)
		}
	}
	if err := server.Aggregate(fake.CustomResource{}); err == nil {
		t.Error("Aggregate without a group: got no error")
	}
}

// A client that has received the event of a write finds its effects in discovery.
func TestDiscoveryIsNotOlderThanEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := startInMemory(t)
		client := clientOf(t, server)
		w, err := client.Resource(apiServices).Watch(t.Context(), metav1.ListOptions{ResourceVersion: server.ResourceVersion()})
		must(t, err)
		defer w.Stop()
		must(t, server.Aggregate(widget))
		for range 4 { // each version is created and gets a condition
			<-w.ResultChan()
		}
		list := func() error {
			_, err := client.Resource(widgetsV1).List(t.Context(), metav1.ListOptions{})
			return err
		}
		for i := range 20 {
			go func() { _ = server.SetAvailable("v1.example.com", i%2 == 1) }() // the next list fails if it did
			<-w.ResultChan()
			if err := list(); (err == nil) != (i%2 == 1) {
				t.Fatalf("write %d: got %v from a list after its event", i, err)
			}
		}
	})
}
