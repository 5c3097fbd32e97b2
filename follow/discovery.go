// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

const (
	// accepted are the forms of aggregated discovery, and the groups alone of a server without it
	// (KEP-3352).
	accepted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
		"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
	// maxDiscovery is the number of bytes of the largest answer that is read.
	maxDiscovery = 256 << 20
	// discoveryTimeout is how long a request may take. It is that of client-go's discovery client.
	discoveryTimeout = 32 * time.Second
)

// Resource is a resource that the server serves.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	Verbs      []string // such as "list" and "watch"
	// Subresources are the names of the subresources, such as "status".
	Subresources []string
	// Preferred reports whether this is the version that the server prefers, of those that have the
	// resource.
	Preferred bool
	// CustomResource reports whether a CustomResourceDefinition serves the resource, rather than
	// kube-apiserver itself or an aggregated API server: there is a definition of the resource, and
	// no APIService of the group and version without the label
	// kube-aggregator.kubernetes.io/automanaged. It is false before the follower has listed the
	// CustomResourceDefinitions and the APIServices, and so always false without the permission to
	// list both. If discovery lists a resource before the event of its definition arrives, it is
	// false until the event. It remains true until the deletion of the definition has taken effect.
	CustomResource bool
}

// groupVersion is what a document says of a version of a group.
type groupVersion struct {
	schema.GroupVersion
	stale     bool // the server does not know its resources at the moment
	resources []Resource
}

// document is an answer to a discovery request. It does not change.
type document struct {
	id        [sha256.Size]byte // of its content
	resources []*Resource       // those of a group in the order in which the server prefers their versions
	// isPartial reports that the server has no aggregated discovery: versions that were not asked
	// for are stale.
	isPartial bool

	listed map[schema.GroupVersionResource]*Resource // all resources
	names  map[string]bool                           // that their CustomResourceDefinitions and APIServices have, if there are any
	stale  map[schema.GroupVersion]bool              // all versions; whether they are stale
	groups map[string]bool                           // all groups; whether the resources of all versions are known
}

// newDocument returns a document of versions, those of a group in the order in which the server
// prefers them.
func newDocument(versions []groupVersion) *document {
	d := &document{
		id: sha256.Sum256(fmt.Appendf(nil, "%#v", versions)), listed: make(map[schema.GroupVersionResource]*Resource), names: make(map[string]bool),
		stale: make(map[schema.GroupVersion]bool), groups: make(map[string]bool),
	}
	seen := make(map[schema.GroupResource]bool)
	for _, version := range versions {
		known, found := d.groups[version.Group]
		d.stale[version.GroupVersion], d.groups[version.Group] = version.stale, (known || !found) && !version.stale
		d.names[version.Version+"."+version.Group] = true
		for _, resource := range version.resources {
			resource.Preferred = !seen[resource.GroupResource()]
			seen[resource.GroupResource()], d.names[resource.Resource+"."+resource.Group] = true, true
			d.resources, d.listed[resource.GroupVersionResource] = append(d.resources, &resource), &resource
		}
	}
	return d
}

// lacks reports whether the server, by the document, does not serve a resource.
func (d *document) lacks(name schema.GroupVersionResource) bool {
	return d.listed[name] == nil && !d.stale[name.GroupVersion()]
}

// discoverer asks a server what it serves. It is not safe for concurrent use.
type discoverer struct {
	client   *rest.RESTClient
	maxBytes int64          // of an answer
	core     []groupVersion // of /api, which is asked once
	etags    []string       // of the last document; at most one
	last     *document

	// wants reports whether a server without aggregated discovery is to be asked for a version.
	// known reports whether the last answer for the version, which single has, is usable. keep is
	// false if it is to be forgotten.
	wants  func(version schema.GroupVersion, known bool) (ask, keep bool)
	single map[schema.GroupVersion]groupVersion
}

// newDiscoverer returns a discoverer, or nil if the client has no REST client.
func newDiscoverer(client discovery.DiscoveryInterface, wants func(version schema.GroupVersion, known bool) (ask, keep bool)) *discoverer {
	if client != nil {
		if known, ok := client.RESTClient().(*rest.RESTClient); ok && known != nil {
			return &discoverer{client: known, maxBytes: maxDiscovery, wants: wants, single: make(map[schema.GroupVersion]groupVersion)}
		}
	}
	return nil
}

// ask returns what the server serves, the last document if nothing has changed. A server without
// aggregated discovery is asked for each wanted version, too.
func (d *discoverer) ask(ctx context.Context) (_ *document, err error) {
	if d.core == nil {
		if _, d.core, err = d.askRoot(ctx, "/api", nil); err != nil {
			return nil, err
		}
	}
	answer, versions, err := d.askRoot(ctx, "/apis", d.etags)
	if err != nil || answer.StatusCode == http.StatusNotModified {
		return d.last, err
	}
	d.last = newDocument(slices.Concat(d.core, versions))
	d.etags = answer.Header["Etag"]
	if !strings.Contains(answer.Header.Get("Content-Type"), "as=APIGroupDiscoveryList") {
		d.last.isPartial, d.etags = true, nil // its ETag, if it has one, says nothing of the resources
	}
	return d.last, nil
}

// askRoot asks for the versions of all groups below a path. There is no answer but 304 if etags has
// that of the last one.
func (d *discoverer) askRoot(ctx context.Context, path string, etags []string) (answer *http.Response, versions []groupVersion, err error) {
	answer, body, err := d.get(ctx, path, accepted, etags)
	if err != nil || answer.StatusCode == http.StatusNotModified {
		return answer, nil, err
	}
	var list struct {
		apidiscovery.APIGroupDiscoveryList
		Versions []string          // of /api without aggregated discovery
		Groups   []metav1.APIGroup // of /apis without aggregated discovery
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, nil, fmt.Errorf("discovery: %w", err)
	}
	_, resources, _ := discovery.SplitGroupsAndResources(list.APIGroupDiscoveryList) // those of stale versions are nil
	for _, group := range list.Items {
		for _, version := range group.Versions {
			name := schema.GroupVersion{Group: group.Name, Version: version.Version}
			versions = append(versions, newGroupVersion(name, resources[name]))
		}
	}
	for _, group := range list.Groups {
		for _, version := range group.Versions {
			list.Versions = append(list.Versions, version.GroupVersion)
		}
	}
	for _, name := range list.Versions {
		version, err := d.askVersion(ctx, path, name)
		if err != nil {
			return nil, nil, fmt.Errorf("discovery of %s: %w", name, err)
		}
		versions = append(versions, version)
	}
	return answer, versions, nil
}

// askVersion asks for the resources of one version below a path. If it is not wanted, it takes the
// last answer. That of an aggregated API that does not answer is stale.
func (d *discoverer) askVersion(ctx context.Context, path, text string) (version groupVersion, err error) {
	name, err := schema.ParseGroupVersion(text)
	if err != nil {
		return version, err
	}
	version, known := d.single[name]
	ask, keep := d.wants(name, known && !version.stale)
	if !keep {
		delete(d.single, name)
	}
	if !ask {
		return groupVersion{GroupVersion: name, resources: version.resources, stale: version.stale || !known}, nil
	}
	list := &metav1.APIResourceList{}
	_, body, err := d.get(ctx, path+"/"+text, "application/json", nil)
	switch {
	case err == nil:
		err = json.Unmarshal(body, list)
	case apierrors.IsServiceUnavailable(err):
		list, err = nil, nil
	case apierrors.IsNotFound(err):
		err = nil
	}
	if err != nil {
		delete(d.single, name) // it may be from before a change
		return version, err
	}
	d.single[name] = newGroupVersion(name, list)
	return d.single[name], nil
}

// newGroupVersion returns a version with the resources of a list. Without a list it is stale.
func newGroupVersion(name schema.GroupVersion, list *metav1.APIResourceList) groupVersion {
	v, subresources := groupVersion{GroupVersion: name, stale: list == nil}, make(map[string][]string)
	for _, resource := range ptr.Deref(list, metav1.APIResourceList{}).APIResources {
		if of, sub, found := strings.Cut(resource.Name, "/"); found {
			subresources[of] = append(subresources[of], sub)
			continue
		}
		v.resources = append(v.resources, Resource{
			GroupVersionResource: name.WithResource(resource.Name), Kind: resource.Kind, Namespaced: resource.Namespaced, Verbs: resource.Verbs,
		})
	}
	for i := range v.resources {
		v.resources[i].Subresources = subresources[v.resources[i].Resource]
	}
	return v
}

// get requests a path, unless its ETag is still the given one: then the code is 304. It uses the
// client's HTTP client, as a rest.Result has no ETag.
func (d *discoverer) get(ctx context.Context, path, accept string, etags []string) (answer *http.Response, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	request := &http.Request{
		Method: http.MethodGet, URL: d.client.Get().AbsPath(path).URL(), Header: http.Header{"Accept": {accept}, "If-None-Match": etags},
	}
	answer, err = cmp.Or(d.client.Client, http.DefaultClient).Do(request.WithContext(ctx))
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, d.maxBytes+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	case int64(len(body)) > d.maxBytes:
		return nil, nil, fmt.Errorf("read %s: more than %d bytes", path, d.maxBytes)
	case answer.StatusCode == http.StatusOK, answer.StatusCode == http.StatusNotModified && etags != nil:
		return answer, body, nil
	}
	message := strings.TrimSpace(string(body[:min(len(body), 1024)]))
	return nil, nil, apierrors.NewGenericServerResponse(answer.StatusCode, "get", schema.GroupResource{}, path, message, 0, true)
}
