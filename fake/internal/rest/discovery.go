// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/codec"
	"github.com/kinformer/kinformer/fake/internal/registry"
)

// Version is the version of Kubernetes that the server reports, whose behavior it reproduces.
const Version = "v1.36.3"

// discover answers discovery requests and reports whether the request was one.
func (c *call) discover() bool {
	if c.r.Method != http.MethodGet {
		return false
	}
	path := strings.TrimSuffix(c.r.URL.Path, "/")
	if path == "/version" {
		c.writeVersion()
		return true
	}
	all := c.Registry.APIs()
	found := c.discoveryDocument(path, all)
	if found == nil {
		return false
	}
	endpoint := codec.Document
	if path == "/api" || path == "/apis" {
		endpoint = codec.Groups
	}
	accepted, ok := c.Codecs.ForAccept(c.r.Header.Get("Accept"), endpoint)
	if !ok {
		c.fail(noAcceptableType(c.Codecs.Supported()))
		return true
	}
	c.Accepted = accepted
	write := c.write
	if c.As == codec.DiscoveryList {
		found, write = aggregate(all, path == "/api"), c.writeAggregated
	}
	if err := write(http.StatusOK, found); err != nil {
		c.fail(err)
	}
	return true
}

// discoveryDocument returns the discovery document for a path, or nil if the path has none. The
// server serves all.
func (c *call) discoveryDocument(path string, all []registry.API) runtime.Object {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == "/api":
		return c.coreVersions()
	case path == "/apis":
		return &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: groupsOf(all)}
	case len(segments) == 2 && segments[0] == "api":
		return resourcesOf(all, schema.GroupVersion{Version: segments[1]})
	case len(segments) == 3 && segments[0] == "apis":
		return resourcesOf(all, schema.GroupVersion{Group: segments[1], Version: segments[2]})
	case len(segments) == 2 && segments[0] == "apis":
		for _, group := range groupsOf(all) {
			if group.Name == segments[1] {
				group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				return &group
			}
		}
	}
	return nil
}

func (c *call) coreVersions() *metav1.APIVersions {
	return &metav1.APIVersions{
		TypeMeta:                   metav1.TypeMeta{Kind: "APIVersions"},
		Versions:                   []string{"v1"},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: c.r.Host}},
	}
}

// groupsOf returns all groups except the core group, each with its versions, the preferred one
// first.
func groupsOf(all []registry.API) []metav1.APIGroup {
	groups := []metav1.APIGroup{}
	for _, api := range all {
		if api.Group == "" {
			continue
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: api.String(), Version: api.Version}
		if last := len(groups) - 1; last >= 0 && groups[last].Name == api.Group {
			groups[last].Versions = append(groups[last].Versions, v)
			continue
		}
		groups = append(groups, metav1.APIGroup{Name: api.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
	}
	return groups
}

// resourcesOf returns the resources and subresources of a group and version, or nil if it is not
// served.
func resourcesOf(all []registry.API, gv schema.GroupVersion) runtime.Object {
	i := slices.IndexFunc(all, func(api registry.API) bool { return api.GroupVersion == gv })
	if i < 0 {
		return nil
	}
	return &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(), APIResources: apiResources(all[i]),
	}
}

// apiResources returns the entries of all resources and subresources of a group and version, sorted
// by name: a resource is followed by its subresources.
func apiResources(api registry.API) []metav1.APIResource {
	described := []metav1.APIResource{}
	for _, store := range api.Stores {
		described = append(described, describe(store)...)
	}
	if api.Group == "" {
		described = append(described, metav1.APIResource{
			Name: "bindings", SingularName: "binding", Namespaced: true, Kind: "Binding", Verbs: metav1.Verbs{"create"},
		})
	}
	slices.SortFunc(described, func(a, b metav1.APIResource) int { return cmp.Compare(a.Name, b.Name) })
	return described
}

// describe returns the entries of a resource and its subresources.
func describe(r *registry.Store) []metav1.APIResource {
	name, isCore := r.GroupVersionResource.Resource, r.Group == ""
	described := []metav1.APIResource{{
		Name: name, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind.Kind,
		Verbs: verbsOf(r), ShortNames: r.ShortNames, Categories: r.Categories,
	}}
	subresource := func(suffix, kind string, verbs ...string) {
		described = append(described, metav1.APIResource{Name: name + "/" + suffix, Namespaced: r.Namespaced, Kind: kind, Verbs: verbs})
	}
	if r.HasStatus {
		subresource("status", r.Kind.Kind, "get", "patch", "update")
	}
	if isCore && name == "pods" {
		subresource("binding", "Binding", "create")
	}
	if isCore && name == "namespaces" {
		subresource("finalize", r.Kind.Kind, "update")
	}
	return described
}

// verbsOf returns the verbs of a resource, without those that write if its definition is being
// deleted.
func verbsOf(r *registry.Store) metav1.Verbs {
	verbs := slices.Clone(r.Verbs())
	if !r.Terminating() {
		return verbs
	}
	return slices.DeleteFunc(verbs, func(verb string) bool { return verb == "create" || verb == "patch" || verb == "update" })
}

// writeVersion answers with the server's version, which is plain JSON and not an API object.
func (c *call) writeVersion() {
	c.w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	parts := strings.SplitN(strings.TrimPrefix(Version, "v"), ".", 3)
	_, _ = c.w.Write([]byte(`{"major":"` + parts[0] + `","minor":"` + parts[1] + `","gitVersion":"` + Version + `","platform":"fake"}`))
}
