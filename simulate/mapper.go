// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kinformer/kinformer/fake"
)

// mapper finds the resource of a kind and the kind of a resource. It is shared by all runs of a test.
type mapper struct{ meta.RESTMapper }

// discover reads what a server serves, unless it is known already.
func (m *mapper) discover(server *fake.APIServer) error {
	if m.RESTMapper != nil {
		return nil
	}
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: "http://simulated", Transport: direct{server}, QPS: -1})
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return fmt.Errorf("discover resources: %w", err)
	}
	m.RESTMapper = restmapper.NewDiscoveryRESTMapper(groups)
	return nil
}

// resource returns the resource of an object.
func (m *mapper) resource(obj fake.Object) (schema.GroupVersionResource, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil {
		gvk = kinds[0]
	}
	mapping, err := m.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("%w (a custom resource must be in Test.CustomResources or Test.Objects)", err)
	}
	return mapping.Resource, nil
}

// object returns an object with the kind and the name of a target.
func (m *mapper) object(t target) (*unstructured.Unstructured, error) {
	kind, err := m.KindFor(t.resource)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(t.namespace)
	obj.SetName(t.name)
	return obj, nil
}

// direct is a transport that calls the server's handler without a scheduler.
type direct struct{ server *fake.APIServer }

// RoundTrip implements http.RoundTripper.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := newRecorder()
	d.server.ServeHTTP(w, r)
	response := w.response()
	response.Request = r
	return response, nil
}
