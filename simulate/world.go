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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate/internal/canonical"
	"github.com/kinformer/kinformer/simulate/internal/workloads"
)

// World is what the Steps of a test act on: the API server, as its users see it, and the clock. A
// method whose request fails ends the run, and the test fails. Its methods must be called by Steps
// alone, in its goroutine.
type World struct{ scheduler *scheduler }

// stepFailed ends Steps by a panic.
type stepFailed struct{ cause error }

// write does a write that must succeed.
func (w *World) write(verb string, obj fake.Object, do func(fake.Object) error) {
	err := w.scheduler.outsideWrite("steps", verb, obj)
	if err == nil {
		err = do(obj)
	}
	if err != nil {
		panic(stepFailed{fmt.Errorf("%s %s: %w", verb, describe(obj), err)})
	}
	w.scheduler.steps = append(w.scheduler.steps, w.scheduler.server.ResourceVersion())
	w.scheduler.record.note("steps", fmt.Sprintf("%s %s at version %s", verb, describe(obj), w.scheduler.server.ResourceVersion()))
}

// describe returns the kind, namespace and name of an object.
func describe(obj fake.Object) string {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = reflect.TypeOf(obj).Elem().Name()
	}
	return kind + " " + strings.Trim(obj.GetNamespace()+"/"+obj.GetName(), "/")
}

// Create creates an object, with its status. The argument is not changed.
func (w *World) Create(obj fake.Object) {
	w.write("create", obj, w.scheduler.create)
}

// Update sets the spec, and all other fields but the status, of an object to those of obj. Labels,
// annotations, finalizers and owner references stay as they are if obj has none. A resourceVersion
// of obj is ignored. The argument is not changed.
func (w *World) Update(obj fake.Object) {
	w.write("update", obj, w.scheduler.update)
}

// Delete deletes an object as a user does: one with finalizers stays until they are removed. Only
// the kind, namespace and name of obj are used.
func (w *World) Delete(obj fake.Object) {
	w.write("delete", obj, w.scheduler.delete)
}

// Get sets obj to the stored object of its namespace and name. It reports whether there is one.
func (w *World) Get(obj fake.Object) bool {
	return w.scheduler.server.Get(obj) == nil
}

// State returns all objects.
func (w *World) State() State { return w.scheduler.state() }

// Sleep lets the program run for a time of the bubble's clock.
func (w *World) Sleep(d time.Duration) {
	end := time.Now().Add(d)
	w.scheduler.runUntil(func() time.Time { return end })
	w.stopIfFailed()
}

// Settle lets the program run until it is at rest: until no write has changed anything for
// Test.Rest. The state is compared with that of the undisturbed run.
func (w *World) Settle() {
	w.scheduler.record.note("steps", "settle")
	w.scheduler.settle()
	w.stopIfFailed()
}

// stopIfFailed ends Steps if the run has failed.
func (w *World) stopIfFailed() {
	if w.scheduler.record.failed() {
		panic(stepFailed{})
	}
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

func (s *scheduler) update(obj fake.Object) error {
	next := obj.DeepCopyObject().(fake.Object)
	current := obj.DeepCopyObject().(fake.Object)
	if err := s.server.Get(current); err != nil {
		return err
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
	return s.server.Update(next)
}

// delete sends a delete request.
func (s *scheduler) delete(obj fake.Object) error {
	return s.send(http.MethodDelete, obj, "", metav1.DeleteOptions{})
}

// send sends a request for an object, or for its subresource, with a body.
func (s *scheduler) send(method string, obj fake.Object, subresource string, body any) error {
	resource, err := s.mapper.resource(s.server, obj)
	if err != nil {
		return err
	}
	path := "/apis/" + resource.Group
	if resource.Group == "" {
		path = "/api"
	}
	path += "/" + resource.Version
	if obj.GetNamespace() != "" {
		path += "/namespaces/" + obj.GetNamespace()
	}
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	path += "/" + resource.Resource + "/" + obj.GetName() + subresource
	request, err := http.NewRequestWithContext(context.Background(), method, "http://simulated"+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response := newRecorder()
	s.server.ServeHTTP(response, request)
	if response.code >= http.StatusBadRequest {
		return fmt.Errorf("%d %s", response.code, response.body.String())
	}
	return nil
}

// state returns all objects.
func (s *scheduler) state() State {
	return State{workloads.State{
		Objects:      slices.Collect(s.server.Objects()),
		IsNamespaced: func(owner metav1.OwnerReference) bool { return s.mapper.isNamespaced(s.server, owner) },
	}}
}

// objects yields the objects that end states are made of: all but APIServices, Leases and Events.
func (s *scheduler) objects() iter.Seq[canonical.Object] {
	return func(yield func(canonical.Object) bool) {
		for obj := range s.server.Objects() {
			if !isTrafficKind(obj) && !yield(obj) {
				return
			}
		}
	}
}

func isTrafficKind(obj fake.Object) bool {
	if u, ok := obj.(*unstructured.Unstructured); ok && u.GetKind() == "APIService" {
		return true
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	return isTrafficGroup(kind.Group) && (kind.Kind == "Lease" || kind.Kind == "Event")
}
