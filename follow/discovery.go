// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
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
	// Preferred reports whether the server serves the resource in no version that it prefers to this
	// one.
	Preferred bool
}

// groupVersion is what a document says of a version of a group.
type groupVersion struct {
	schema.GroupVersion
	stale     bool // the server does not know its resources at the moment
	resources []Resource
}

// document is an answer to a discovery request.
type document struct {
	id       [sha256.Size]byte // of its content
	versions []groupVersion    // those of a group in the order in which the server prefers them
	// isPartial reports that the server has no aggregated discovery: versions that were not asked for
	// are stale.
	isPartial bool

	listed      map[schema.GroupVersionResource]Resource // all resources
	definitions map[string]bool                          // the names that CustomResourceDefinitions of them have
	apiServices map[string]bool                          // the names that APIServices of the versions have
	stale       map[schema.GroupVersion]bool             // all versions; whether they are stale
	groups      map[string]bool                          // all groups; whether the resources of all versions are known
}

func newDocument(id [sha256.Size]byte, versions []groupVersion) *document {
	d := &document{
		id: id, versions: versions, listed: make(map[schema.GroupVersionResource]Resource),
		definitions: make(map[string]bool), apiServices: make(map[string]bool),
		stale: make(map[schema.GroupVersion]bool), groups: make(map[string]bool),
	}
	for _, version := range versions {
		known, found := d.groups[version.Group]
		d.stale[version.GroupVersion], d.groups[version.Group] = version.stale, (known || !found) && !version.stale
		d.apiServices[version.Version+"."+version.Group] = true
		for _, resource := range version.resources {
			d.listed[resource.GroupVersionResource] = resource
			d.definitions[resource.Resource+"."+resource.Group] = true
		}
	}
	return d
}

// find returns the resource with a name. isCurrent reports whether the document lists the group of the
// resource, and the server knows the resources of all its versions.
func (d *document) find(name schema.GroupVersionResource) (_ Resource, found, isCurrent bool) {
	resource, found := d.listed[name]
	return resource, found, d.groups[name.Group]
}

// discoverer asks a server what it serves. It is not safe for concurrent use.
type discoverer struct {
	client   *rest.RESTClient
	maxBytes int64          // of an answer
	core     []groupVersion // of /api, which is asked once
	etag     string         // of the last document
	last     *document
	single   map[schema.GroupVersion]groupVersion // of a server without aggregated discovery
}

var errNoClient = errors.New("the discovery client has no REST client, as client-go's fake ones: use that of a fake.APIServer")

func newDiscoverer(client discovery.DiscoveryInterface) (*discoverer, error) {
	if client == nil {
		return nil, errNoClient
	}
	known, ok := client.RESTClient().(*rest.RESTClient)
	if !ok || known == nil {
		return nil, errNoClient
	}
	return &discoverer{client: known, maxBytes: maxDiscovery, single: make(map[schema.GroupVersion]groupVersion)}, nil
}

// ask returns what the server serves, the last document if nothing has changed. A server without
// aggregated discovery is asked for the group versions for which wanted reports true. Its
// argument known reports whether the last answer for the version is usable.
func (d *discoverer) ask(ctx context.Context, wanted func(version schema.GroupVersion, known bool) bool) (*document, error) {
	if d.core == nil {
		answer, err := d.get(ctx, "/api", accepted, "")
		if err != nil {
			return nil, err
		}
		if d.core, err = d.versions(ctx, answer, func(schema.GroupVersion, bool) bool { return true }); err != nil {
			return nil, err
		}
	}
	answer, err := d.get(ctx, "/apis", accepted, d.etag)
	if err != nil {
		return nil, err
	}
	if answer.code == http.StatusNotModified && d.last != nil {
		return d.last, nil
	}
	versions, err := d.versions(ctx, answer, wanted)
	if err != nil {
		return nil, err
	}
	versions = slices.Concat(d.core, versions)
	id := sha256.Sum256(answer.body)
	if d.etag = answer.etag; !answer.isAggregated() { // its ETag, if it has one, says nothing of the resources
		d.etag, id = "", sha256.Sum256(fmt.Appendf(nil, "%#v", versions))
	}
	d.last = newDocument(id, versions)
	d.last.isPartial = !answer.isAggregated()
	return d.last, nil
}

// response is the response to a request.
type response struct {
	code        int
	etag        string
	contentType string
	body        []byte
}

func (r response) isAggregated() bool {
	_, parameters, err := mime.ParseMediaType(r.contentType)
	return err == nil && parameters["as"] == "APIGroupDiscoveryList"
}

// get requests a path. It does so by the client's HTTP client, as a rest.Result has no ETag.
func (d *discoverer) get(ctx context.Context, path, accept, etag string) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	sent, err := http.NewRequestWithContext(ctx, http.MethodGet, d.client.Get().AbsPath(path).URL().String(), nil)
	if err != nil {
		return response{}, err
	}
	sent.Header.Set("Accept", accept)
	if etag != "" {
		sent.Header.Set("If-None-Match", etag)
	}
	received, err := cmp.Or(d.client.Client, http.DefaultClient).Do(sent)
	if err != nil {
		return response{}, err
	}
	defer received.Body.Close()
	r := response{code: received.StatusCode, etag: received.Header.Get("ETag"), contentType: received.Header.Get("Content-Type")}
	r.body, err = io.ReadAll(io.LimitReader(received.Body, d.maxBytes+1))
	switch {
	case err != nil:
		return r, fmt.Errorf("read %s: %w", path, err)
	case int64(len(r.body)) > d.maxBytes:
		return r, fmt.Errorf("read %s: more than %d bytes", path, d.maxBytes)
	case r.code == http.StatusNotModified, r.code == http.StatusOK:
		return r, nil
	}
	return r, apierrors.NewGenericServerResponse(r.code, "get", schema.GroupResource{}, path, strings.TrimSpace(string(r.body[:min(len(r.body), 1024)])), 0, true)
}

// versions returns the versions of the groups in a response.
func (d *discoverer) versions(ctx context.Context, answer response, wanted func(version schema.GroupVersion, known bool) bool) (versions []groupVersion, err error) {
	if answer.isAggregated() {
		versions, err = versionsIn(answer)
	} else {
		versions, err = d.askEach(ctx, answer, wanted)
	}
	seen := make(map[schema.GroupResource]bool)
	for _, version := range versions {
		for i, resource := range version.resources {
			version.resources[i].Preferred = !seen[resource.GroupResource()]
			seen[resource.GroupResource()] = true
		}
	}
	return versions, err
}

// versionsIn returns the versions of the groups in a document of aggregated discovery.
func versionsIn(answer response) (versions []groupVersion, err error) {
	var list apidiscovery.APIGroupDiscoveryList
	if err := json.Unmarshal(answer.body, &list); err != nil {
		return nil, fmt.Errorf("aggregated discovery: %w", err)
	}
	groups, resources, stale := discovery.SplitGroupsAndResources(list)
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			name := schema.GroupVersion{Group: group.Name, Version: version.Version}
			versions = append(versions, newGroupVersion(name, resources[name]))
		}
	}
	for name := range stale {
		versions = append(versions, groupVersion{GroupVersion: name, stale: true})
	}
	return versions, nil
}

// newGroupVersion returns a version with the resources of a list, which may be nil.
func newGroupVersion(name schema.GroupVersion, list *metav1.APIResourceList) groupVersion {
	v, subresources := groupVersion{GroupVersion: name}, make(map[string][]string)
	if list == nil {
		return v
	}
	for _, resource := range list.APIResources {
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

// askEach asks a server without aggregated discovery for the resources of each wanted version, and takes
// the last answer for the others.
func (d *discoverer) askEach(ctx context.Context, answer response, wanted func(version schema.GroupVersion, known bool) bool) (versions []groupVersion, err error) {
	var list metav1.APIGroupList
	var core metav1.APIVersions
	if err := errors.Join(json.Unmarshal(answer.body, &list), json.Unmarshal(answer.body, &core)); err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	for _, version := range core.Versions {
		list.Groups = append(list.Groups, metav1.APIGroup{Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: version}}})
	}
	for _, group := range list.Groups {
		for _, version := range group.Versions {
			name, err := schema.ParseGroupVersion(version.GroupVersion)
			if err != nil {
				return nil, fmt.Errorf("discovery: %w", err)
			}
			v, known := d.single[name]
			if !known {
				v = groupVersion{GroupVersion: name, stale: true}
			}
			if wanted(name, !v.stale) {
				if v, err = d.askVersion(ctx, name); err != nil {
					return nil, err
				}
				d.single[name] = v
			}
			v.resources = slices.Clone(v.resources) // readers have those of the last document
			versions = append(versions, v)
		}
	}
	return versions, nil
}

// askVersion asks for the resources of one version. That of an aggregated API that does not answer is
// stale.
func (d *discoverer) askVersion(ctx context.Context, version schema.GroupVersion) (groupVersion, error) {
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	answer, err := d.get(ctx, path, "application/json", "")
	switch {
	case apierrors.IsNotFound(err):
		return groupVersion{GroupVersion: version}, nil
	case apierrors.IsServiceUnavailable(err):
		return groupVersion{GroupVersion: version, stale: true}, nil
	case err != nil:
		return groupVersion{}, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(answer.body, &list); err != nil {
		return groupVersion{}, fmt.Errorf("discovery of %s: %w", version, err)
	}
	return newGroupVersion(version, &list), nil
}
