// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/registry"
)

// aggregate returns the aggregated discovery document of the core group, or that of all others.
func aggregate(all []registry.API, core bool) runtime.Object {
	list := &apidiscoveryv2.APIGroupDiscoveryList{Items: []apidiscoveryv2.APIGroupDiscovery{}}
	list.SetGroupVersionKind(apidiscoveryv2.SchemeGroupVersion.WithKind("APIGroupDiscoveryList"))
	for _, api := range all {
		if (api.Group == "") != core {
			continue
		}
		if last := len(list.Items) - 1; last < 0 || list.Items[last].Name != api.Group {
			list.Items = append(list.Items, apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: api.Group}})
		}
		group := &list.Items[len(list.Items)-1]
		version := apidiscoveryv2.APIVersionDiscovery{
			Version: api.Version, Resources: aggregateResources(api), Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent,
		}
		if api.Stale {
			version.Freshness = apidiscoveryv2.DiscoveryFreshnessStale
		}
		group.Versions = append(group.Versions, version)
	}
	return list
}

// aggregateResources returns the resources of a group and version with their subresources. As from
// the real server, the responseKind of a built-in resource has neither group nor version.
func aggregateResources(api registry.API) []apidiscoveryv2.APIResourceDiscovery {
	var resources []apidiscoveryv2.APIResourceDiscovery
	gv := api.GroupVersion
	if !api.Custom() {
		gv = schema.GroupVersion{}
	}
	for _, r := range apiResources(api) {
		kind := metav1.GroupVersionKind{Group: gv.Group, Version: gv.Version, Kind: r.Kind}
		if _, subresource, ok := strings.Cut(r.Name, "/"); ok {
			parent := &resources[len(resources)-1]
			parent.Subresources = append(parent.Subresources, apidiscoveryv2.APISubresourceDiscovery{
				Subresource: subresource, ResponseKind: &kind, Verbs: r.Verbs,
			})
			continue
		}
		scope := apidiscoveryv2.ScopeCluster
		if r.Namespaced {
			scope = apidiscoveryv2.ScopeNamespace
		}
		resources = append(resources, apidiscoveryv2.APIResourceDiscovery{
			Resource: r.Name, ResponseKind: &kind, Scope: scope, SingularResource: r.SingularName,
			Verbs: r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	return resources
}

// writeAggregated answers with an aggregated discovery document, or with 304 if the client has it.
func (c *call) writeAggregated(code int, list runtime.Object) error {
	content, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode discovery document: %w", err)
	}
	tag := strconv.Quote(fmt.Sprintf("%X", sha512.Sum512(content)))
	header := c.w.Header()
	header.Set("ETag", tag)
	header.Set("Vary", "Accept")
	header.Set("Cache-Control", "public")
	if c.r.Header.Get("If-None-Match") == tag {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	contentType := c.ContentType + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	return c.writeAs(code, contentType, list)
}
