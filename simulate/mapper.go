// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kinformer/kinformer/fake"
)

// mapper finds the resource of a kind and the kind of a resource. It is shared by all runs of a
// test, and discovers again what it does not find, such as the kinds of CustomResourceDefinitions
// that are created.
type mapper struct{ meta.RESTMapper }

// find calls lookup with a mapper that knows what the server serves.
func (m *mapper) find(server *fake.APIServer, lookup func() error) error {
	if m.RESTMapper != nil && lookup() == nil {
		return nil
	}
	if err := m.discover(server); err != nil {
		return err
	}
	return lookup()
}

// discover reads what a server serves.
func (m *mapper) discover(server *fake.APIServer) error {
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
func (m *mapper) resource(server *fake.APIServer, obj fake.Object) (schema.GroupVersionResource, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil {
		gvk = kinds[0]
	}
	var mapping *meta.RESTMapping
	err := m.find(server, func() (err error) {
		mapping, err = m.RESTMapping(gvk.GroupKind(), gvk.Version)
		return err
	})
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("%w (a custom resource must be in Test.CustomResources, or its definition in Test.Objects)", err)
	}
	return mapping.Resource, nil
}

// isNamespaced reports whether the API server serves the kind of an owner in Namespaces.
func (m *mapper) isNamespaced(server *fake.APIServer, owner metav1.OwnerReference) bool {
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	var mapping *meta.RESTMapping
	err := m.find(server, func() (err error) {
		mapping, err = m.RESTMapping(kind.GroupKind(), kind.Version)
		return err
	})
	return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
}

// object returns an object with the kind and the name of a target. If the server does not serve the
// resource, it returns an object with the apiVersion instead of the kind, and an error.
func (m *mapper) object(server *fake.APIServer, t target) (*unstructured.Unstructured, error) {
	var kind schema.GroupVersionKind
	err := m.find(server, func() (err error) {
		kind, err = m.KindFor(t.resource)
		return err
	})
	if err != nil {
		kind = t.resource.GroupVersion().WithKind("")
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace(t.namespace)
	obj.SetName(t.name)
	return obj, err
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
