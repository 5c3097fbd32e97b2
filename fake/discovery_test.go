// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/kinformer/kinformer/fake"
)

// discover requests the aggregated discovery document of /api or /apis. The document is nil if the
// response is 304.
func discover(t *testing.T, server *fake.APIServer, path, tag string) (http.Header, *apidiscoveryv2.APIGroupDiscoveryList) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL()+path, nil)
	must(t, err)
	request.Header.Set("Accept", discovery.AcceptV2)
	request.Header.Set("If-None-Match", tag)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	if response.StatusCode == http.StatusNotModified && len(body) == 0 {
		return response.Header, nil
	}
	list := &apidiscoveryv2.APIGroupDiscoveryList{}
	must(t, json.Unmarshal(body, list))
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != discovery.AcceptV2 || list.Kind != "APIGroupDiscoveryList" {
		t.Fatalf("%s: got %s %s %q", path, response.Status, response.Header.Get("Content-Type"), list.Kind)
	}
	return response.Header, list
}

// versionsOf formats the versions of a group in a discovery document, in order.
func versionsOf(list *apidiscoveryv2.APIGroupDiscoveryList, group string) (versions []string) {
	for _, item := range list.Items {
		if item.Name != group {
			continue
		}
		for _, v := range item.Versions {
			versions = append(versions, v.Version+" "+string(v.Freshness))
		}
	}
	return versions
}

func TestAggregatedDiscovery(t *testing.T) {
	beta := widget
	beta.Versions = []string{"v1beta1", "v2", "v1", "v10", "v2alpha1"}
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{beta}})

	_, core := discover(t, server, "/api", "")
	if len(core.Items) != 1 || core.Items[0].Name != "" || !slices.Equal(versionsOf(core, ""), []string{"v1 Current"}) {
		t.Errorf("/api: got %d groups, versions %v", len(core.Items), versionsOf(core, ""))
	}
	resources := core.Items[0].Versions[0].Resources
	i := slices.IndexFunc(resources, func(r apidiscoveryv2.APIResourceDiscovery) bool { return r.Resource == "pods" })
	pods := resources[i]
	if pods.Scope != apidiscoveryv2.ScopeNamespace || pods.ResponseKind.Kind != "Pod" || pods.SingularResource != "pod" ||
		!slices.Equal(pods.ShortNames, []string{"po"}) || !slices.Equal(pods.Categories, []string{"all"}) || !slices.Contains(pods.Verbs, "watch") {
		t.Errorf("pods: got %+v", pods)
	}
	if s := pods.Subresources; len(s) != 2 || s[0].Subresource != "binding" || s[0].ResponseKind.Kind != "Binding" || s[1].Subresource != "status" {
		t.Errorf("subresources of pods: got %+v", s)
	}

	_, all := discover(t, server, "/apis", "")
	var groups []string
	for _, item := range all.Items {
		groups = append(groups, item.Name)
	}
	if slices.Contains(groups, "") || slices.Index(groups, "apps") > slices.Index(groups, "autoscaling") || groups[len(groups)-1] != "example.com" {
		t.Errorf("got groups %q, want those of kube-apiserver by priority, and example.com as the last", groups)
	}
	if got := versionsOf(all, "autoscaling"); len(got) < 2 || got[0] != "v2 Current" || got[1] != "v1 Current" {
		t.Errorf("got versions %q of autoscaling, want v2 before v1", got)
	}
	if got := versionsOf(all, "example.com"); !slices.Equal(got, []string{"v10 Current", "v2 Current", "v1 Current", "v1beta1 Current", "v2alpha1 Current"}) {
		t.Errorf("got versions %q of example.com", got)
	}
	kind := all.Items[len(all.Items)-1].Versions[0].Resources[0].ResponseKind
	if kind.Group != "example.com" || kind.Version != "v10" || kind.Kind != "Widget" {
		t.Errorf("got responseKind %+v of widgets", kind)
	}
}

// A client that has the document gets 304, until another resource is served.
func TestAggregatedDiscoveryIsCached(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	header, _ := discover(t, server, "/apis", "")
	if header.Get("Vary") != "Accept" || header.Get("Cache-Control") != "public" {
		t.Errorf("got header %v", header)
	}
	tag := header.Get("ETag")
	if len(tag) < 10 || tag[0] != '"' {
		t.Fatalf("got ETag %s, want a quoted hash", tag)
	}
	if header, list := discover(t, server, "/apis", tag); list != nil || header.Get("ETag") != tag {
		t.Errorf("got a document with ETag %s, want 304 with %s", header.Get("ETag"), tag)
	}
	must(t, server.Create(widget.Definition()))
	if header, list := discover(t, server, "/apis", tag); list == nil || header.Get("ETag") == tag {
		t.Error("after a CustomResourceDefinition was created: got 304, want another document")
	}
}

// client-go's discovery client and RESTMapper read both forms of discovery to the same result.
func TestDiscoveryClient(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{widget}})
	client := discovery.NewDiscoveryClientForConfigOrDie(server.Config())
	legacy := client.WithLegacy()
	groups, lists, err := client.ServerGroupsAndResources()
	must(t, err)
	legacyGroups, legacyLists, err := legacy.ServerGroupsAndResources()
	must(t, err)
	if len(groups) == 0 || len(groups) != len(legacyGroups) || len(lists) != len(legacyLists) {
		t.Fatalf("got %d groups, %d lists; with the legacy form %d, %d", len(groups), len(lists), len(legacyGroups), len(legacyLists))
	}
	for i := range groups {
		if groups[i].Name != legacyGroups[i].Name || groups[i].PreferredVersion != legacyGroups[i].PreferredVersion {
			t.Errorf("got group %v, with the legacy form %v", groups[i], legacyGroups[i])
		}
	}
	for _, all := range [][]*metav1.APIResourceList{lists, legacyLists} { // the aggregated ones come in random order
		slices.SortFunc(all, func(a, b *metav1.APIResourceList) int { return strings.Compare(a.GroupVersion, b.GroupVersion) })
	}
	for i, list := range lists {
		if list.GroupVersion != legacyLists[i].GroupVersion || len(list.APIResources) != len(legacyLists[i].APIResources) {
			t.Errorf("got %d resources of %s, with the legacy form %d of %s", len(list.APIResources), list.GroupVersion,
				len(legacyLists[i].APIResources), legacyLists[i].GroupVersion)
		}
	}
	if _, byVersion, failed, err := client.GroupsAndMaybeResources(); err != nil || byVersion == nil || len(failed) > 0 {
		t.Errorf("GroupsAndMaybeResources: got resources %t, failures %v, %v; want resources", byVersion != nil, failed, err)
	}
	found, err := restmapper.GetAPIGroupResources(client)
	must(t, err)
	mapping, err := restmapper.NewDiscoveryRESTMapper(found).RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Widget"})
	if err != nil || mapping.Resource.Version != "v1" {
		t.Errorf("Widget maps to %+v, %v", mapping, err)
	}
}
