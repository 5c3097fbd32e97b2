// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Resource is a resource of the server.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	Verbs      []string
}

// Supports reports whether the resource has a verb, such as "watch".
func (r *Resource) Supports(verb string) bool { return slices.Contains(r.Verbs, verb) }

// Cacheable reports whether an informer of the resource is possible.
func (r *Resource) Cacheable() bool { return r.Supports("list") && r.Supports("watch") }

// Name returns the resource and its group, such as "pods" or "deployments.apps".
func (r *Resource) Name() string { return r.GroupResource().String() }

// Path returns the path of the resource in the API, in one namespace or in all of them.
func (r *Resource) Path(namespace string) string {
	parts := []string{"/apis", r.Group, r.Version}
	if r.Group == "" {
		parts = []string{"/api", r.Version}
	}
	if namespace != "" && r.Namespaced {
		parts = append(parts, "namespaces", namespace)
	}
	return strings.Join(append(parts, r.Resource), "/")
}

// Catalog holds the resources of a server.
type Catalog struct {
	client *readDiscovery
	mapper meta.RESTMapper
	// Failed are the groups and versions whose resources the server could not list, usually
	// aggregated APIs that are down.
	Failed []schema.GroupVersion
}

// Discover reads the server's discovery documents, once.
func (c *Client) Discover() (*Catalog, error) {
	config := rest.CopyConfig(c.config)
	config.QPS = -1 // the transport paces
	plain, err := discovery.NewDiscoveryClientForConfigAndClient(config, &http.Client{Transport: statusText{c.http.Transport}})
	if err != nil {
		return nil, fmt.Errorf("discover the resources of %s: %w", c.Host(), err)
	}
	read, err := readAll(plain)
	if err != nil {
		return nil, fmt.Errorf("discover the resources of %s: %w", c.Host(), rootCause(err))
	}
	catalog := &Catalog{client: read}
	groups, err := restmapper.GetAPIGroupResources(read)
	if err != nil {
		return nil, fmt.Errorf("discover the resources of %s: %w", c.Host(), err)
	}
	ignoreWarning := func(string) {}
	catalog.mapper = restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), catalog.client, ignoreWarning)
	return catalog, nil
}

// Find returns the resource with a name, as kubectl takes it: pods, pod, po, deployments.apps,
// deployments.v1.apps.
func (c *Catalog) Find(name string) (*Resource, error) {
	resource, err := c.lookUp(strings.ToLower(name))
	if err != nil {
		unknown := fmt.Errorf("unknown resource %q; kubectl api-resources lists those of the server", name)
		if failed := c.client.failure(); failed != nil {
			return nil, fmt.Errorf("%w; %w", unknown, failed)
		}
		return nil, unknown
	}
	list, err := c.client.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if err != nil {
		return nil, fmt.Errorf("discover %s: %w", resource.GroupVersion(), err)
	}
	for i := range list.APIResources {
		if list.APIResources[i].Name == resource.Resource {
			return newResource(resource.GroupVersion(), &list.APIResources[i]), nil
		}
	}
	return nil, fmt.Errorf("unknown resource %q", name)
}

func (c *Catalog) lookUp(name string) (schema.GroupVersionResource, error) {
	withVersion, withGroup := schema.ParseResourceArg(name)
	if withVersion != nil {
		if found, err := c.mapper.ResourceFor(*withVersion); err == nil {
			return found, nil
		}
	}
	return c.mapper.ResourceFor(withGroup.WithVersion(""))
}

// Failure returns why the server could not list the resources of a group and version in Failed.
func (c *Catalog) Failure(version schema.GroupVersion) error { return c.client.failed[version] }

// All returns every resource that can be listed, in its preferred version, sorted by name.
func (c *Catalog) All() ([]*Resource, error) {
	lists, err := c.client.ServerPreferredResources()
	if failed, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); ok {
		c.Failed = sortedVersions(failed.Groups)
	} else if err != nil {
		return nil, rootCause(err)
	}
	var all []*Resource
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("discover resources: %w", err)
		}
		for i := range list.APIResources {
			if r := newResource(group, &list.APIResources[i]); r.Supports("list") && !strings.Contains(r.Resource, "/") {
				all = append(all, r)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Resource) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

func newResource(group schema.GroupVersion, r *metav1.APIResource) *Resource {
	return &Resource{GroupVersionResource: group.WithResource(r.Name), Kind: r.Kind, Namespaced: r.Namespaced, Verbs: r.Verbs}
}

func sortedVersions(groups map[schema.GroupVersion]error) []schema.GroupVersion {
	var sorted []schema.GroupVersion
	for group := range groups {
		sorted = append(sorted, group)
	}
	slices.SortFunc(sorted, func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
	return sorted
}
