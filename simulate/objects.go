// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate/internal/canonical"
	"github.com/kinformer/kinformer/simulate/internal/workloads"
)

// state returns all objects.
func (s *scheduler) state() State {
	return State{workloads.State{
		Objects:      slices.Collect(s.server.Objects()),
		IsNamespaced: func(owner metav1.OwnerReference) bool { return s.mapper.isNamespaced(s.server, owner) },
	}}
}

// objects yields the objects that end states are made of: all but APIServices, Leases and Events,
// and Test.Outside.
func (s *scheduler) objects() iter.Seq[canonical.Object] {
	return func(yield func(canonical.Object) bool) {
		for obj := range s.server.Objects() {
			if !isTrafficKind(obj) && !yield(obj) {
				return
			}
		}
		if obj := s.outsideObject(); obj != nil {
			yield(obj)
		}
	}
}

// outsideObject returns what Test.Outside returns as an object, or nil without Test.Outside.
func (s *scheduler) outsideObject() *unstructured.Unstructured {
	if s.test.Outside == nil {
		return nil
	}
	var outside any
	s.callTest(func() { outside = s.test.Outside() })
	text, err := json.Marshal(outside)
	if err != nil {
		s.record.fail(oracleSteps, "encode what Test.Outside returns: %v", err)
		return nil
	}
	var state any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&state) // never fails after Marshal
	return &unstructured.Unstructured{Object: map[string]any{"kind": "Outside", "state": state}}
}

// outsideState returns the state of Test.Outside, which is empty if there is none.
func (s *scheduler) outsideState() canonical.State {
	obj := s.outsideObject()
	if obj == nil {
		return nil
	}
	return s.stateOf(obj)
}

// canonicalObject returns the state of one object, which is empty if there is none.
func (s *scheduler) canonicalObject(t target) canonical.State {
	obj, err := s.mapper.object(s.server, t)
	if err != nil || s.server.Get(obj) != nil {
		return nil
	}
	return s.stateOf(obj)
}

// stateOf returns the state of one object.
func (s *scheduler) stateOf(obj canonical.Object) canonical.State {
	state, err := canonical.Of(func(yield func(canonical.Object) bool) { yield(obj) }, s.test.ignored)
	if err != nil {
		s.record.fail(oracleSteps, "compare %s %s/%s: %v", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	return state
}

func isTrafficKind(obj fake.Object) bool {
	if u, ok := obj.(*unstructured.Unstructured); ok && u.GetKind() == "APIService" {
		return true
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	return isTrafficGroup(kind.Group) && (kind.Kind == "Lease" || kind.Kind == "Event")
}

// describe returns the kind, namespace and name of an object.
func describe(obj fake.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = reflect.TypeOf(obj).Elem().Name()
	}
	return kind + " " + strings.Trim(obj.GetNamespace()+"/"+obj.GetName(), "/")
}

// create stores a copy of an object, with its status.
func (s *scheduler) create(obj fake.Object) error {
	created := obj.DeepCopyObject().(fake.Object)
	if err := s.server.Create(created); err != nil {
		return err
	}
	if obj.GetName() == "" {
		if resource, err := s.mapper.resource(s.server, obj); err == nil {
			s.points.generated(target{resource: resource, namespace: obj.GetNamespace()}, obj.GetGenerateName(), created.GetName())
		}
	}
	withStatus := obj.DeepCopyObject().(fake.Object)
	withStatus.SetName(created.GetName())
	withStatus.SetResourceVersion("")
	if !hasStatus(withStatus) {
		return nil
	}
	return s.server.UpdateStatus(withStatus)
}

func hasStatus(obj fake.Object) bool {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	status, ok := fields["status"].(map[string]any)
	return err == nil && ok && len(status) > 0
}

// merged returns an object that is to replace the stored one: see World.Update.
func (s *scheduler) merged(obj fake.Object) (fake.Object, error) {
	next := obj.DeepCopyObject().(fake.Object)
	current := obj.DeepCopyObject().(fake.Object)
	if err := s.server.Get(current); err != nil {
		return nil, err
	}
	next.SetResourceVersion("")
	if next.GetLabels() == nil {
		next.SetLabels(current.GetLabels())
	}
	if next.GetAnnotations() == nil {
		next.SetAnnotations(current.GetAnnotations())
	}
	if next.GetFinalizers() == nil {
		next.SetFinalizers(current.GetFinalizers())
	}
	if next.GetOwnerReferences() == nil {
		next.SetOwnerReferences(current.GetOwnerReferences())
	}
	return next, nil
}

// delete sends a delete request.
func (s *scheduler) delete(obj fake.Object) error {
	return s.send(http.MethodDelete, obj, "", metav1.DeleteOptions{})
}

// send sends a request for an object, or for its subresource, with a body.
func (s *scheduler) send(method string, obj fake.Object, subresource string, body any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	request, err := s.requestFor(method, obj, subresource, content)
	if err != nil {
		return err
	}
	response := newRecorder()
	s.server.ServeHTTP(response, request)
	if response.code >= http.StatusBadRequest {
		return fmt.Errorf("%d %s", response.code, response.body.String())
	}
	return nil
}

// requestFor returns a request for an object, or for its subresource.
func (s *scheduler) requestFor(method string, obj fake.Object, subresource string, content []byte) (*http.Request, error) {
	resource, err := s.mapper.resource(s.server, obj)
	if err != nil {
		return nil, err
	}
	path := "/apis/" + resource.Group
	if resource.Group == "" {
		path = "/api"
	}
	path += "/" + resource.Version
	if obj.GetNamespace() != "" {
		path += "/namespaces/" + obj.GetNamespace()
	}
	path += "/" + resource.Resource
	if method != http.MethodPost {
		path += "/" + obj.GetName() + subresource
	}
	request, err := http.NewRequestWithContext(context.Background(), method, "http://simulated"+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}
