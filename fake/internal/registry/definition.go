// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// cleanupFinalizer keeps a CustomResourceDefinition until its objects are removed.
const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io"

// customResource is what all versions of a custom resource share.
type customResource struct {
	objects     *history.Collection
	spec        any            // of the definition that is served
	schema      map[string]any // the JSON of the stored version's schema
	types       func() managedfields.TypeConverter
	outdated    bool        // objects may have been stored with another schema
	reported    bool        // the log says that the schema has rules that are not evaluated
	terminating atomic.Bool // the definition is being deleted
}

func (s *Store) storesDefinitions() bool {
	return s.Kind.Kind == "CustomResourceDefinition" && s.Group == "apiextensions.k8s.io"
}

func (r *Registry) definitions() *Store {
	return r.ForResource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
}

// decidesServed reports whether the objects of the store decide what the registry serves.
func (s *Store) decidesServed() bool {
	return s.storesDefinitions() || s.storesAPIServices()
}

// lockServed makes a write to an APIService or CustomResourceDefinition and its effects one step
// for requests that follow. It returns the function that ends the step.
func (s *Store) lockServed() (unlock func()) {
	if !s.decidesServed() {
		return func() {}
	}
	s.registry.reconciling.Lock()
	return s.registry.reconciling.Unlock
}

// settle updates what the registry serves, after a write to an APIService, a
// CustomResourceDefinition or an object of one that is being deleted. For the first two, the caller
// must hold reconciling.
func (s *Store) settle(name string) error {
	switch {
	case s.storesAPIServices():
		return s.registry.reconcileAPIService(name)
	case s.storesDefinitions():
		return s.registry.reconcile(name)
	case s.Terminating():
		s.registry.reconciling.Lock()
		defer s.registry.reconciling.Unlock()
		return s.registry.reconcile(s.GroupResource().String())
	}
	return nil
}

// Settle blocks until the writes that decide what is served have taken effect, as far as their
// events may have been received.
func (r *Registry) Settle() {
	r.reconciling.RLock()
	defer r.reconciling.RUnlock()
}

// reconcile serves the resources of the CustomResourceDefinition with the name, and updates its
// status. Unlike on a real server, the definition is established when the create request returns,
// and a deleted one is removed with the last object. The caller must hold reconciling.
func (r *Registry) reconcile(name string) error {
	obj, ok := r.definitions().objects.Get(name)
	if !ok {
		r.drop(name)
		return r.registerCustom()
	}
	defined, err := resource.FromDefinition(obj)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	terminating := obj.GetDeletionTimestamp() != nil
	custom := r.serve(name, defined, obj.(*unstructured.Unstructured).Object["spec"], terminating)
	if !terminating {
		err = r.establish(obj)
	} else {
		err = r.terminate(obj, r.newStore(defined.Stored, custom.objects, custom))
	}
	return errors.Join(err, r.registerCustom())
}

// serve serves a custom resource, which keeps its objects. If the spec has changed, it replaces the
// stores of all versions and so ends their watches, as the real server does.
func (r *Registry) serve(name string, defined *resource.CustomResource, spec any, terminating bool) *customResource {
	r.mu.RLock()
	custom := r.custom[name]
	r.mu.RUnlock()
	if custom == nil {
		custom = &customResource{objects: r.collection(defined.Stored)}
	}
	custom.terminating.Store(terminating)
	if custom.spec != nil && apiequality.Semantic.DeepEqual(custom.spec, spec) {
		return custom
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	stored := defined.Stored.Schema.Source()
	custom.outdated = custom.outdated || custom.spec != nil && !apiequality.Semantic.DeepEqual(custom.schema, stored)
	custom.spec, custom.schema = spec, stored
	custom.types = sync.OnceValue(func() managedfields.TypeConverter { return customTypes(defined) })
	r.custom[name] = custom
	r.withdraw(custom)
	custom.reportCELRules(name, defined)
	for _, res := range defined.Served {
		res.Outdated = custom.outdated
		r.add(r.newStore(res, custom.objects, custom))
	}
	return custom
}

// reportCELRules logs, once for a definition, that the server does not evaluate the rules in CEL of
// its schemas. The caller must hold the registry's mu.
func (c *customResource) reportCELRules(name string, defined *resource.CustomResource) {
	if c.reported || !slices.ContainsFunc(defined.Served, func(res *resource.Resource) bool { return res.Schema.HasCELRules() }) {
		return
	}
	c.reported = true
	klog.Background().Info("Fake API server does not evaluate x-kubernetes-validations", "customResourceDefinition", name)
}

// withdraw stops serving a custom resource. The caller must hold mu.
func (r *Registry) withdraw(custom *customResource) {
	for gvr, s := range r.byResource {
		if s.custom == custom {
			delete(r.byResource, gvr)
			delete(r.byKind, s.Kind)
			close(s.withdrawn)
		}
	}
}

// markDefinition returns a CustomResourceDefinition marked for deletion, or nil for an object of
// another kind or one that is marked already.
func (s *Store) markDefinition(current history.Object) history.Object {
	if !s.storesDefinitions() || current.GetDeletionTimestamp() != nil {
		return nil
	}
	marked, at := deepCopy(current), now()
	marked.SetDeletionTimestamp(&at)
	if !slices.Contains(marked.GetFinalizers(), cleanupFinalizer) {
		marked.SetFinalizers(append(marked.GetFinalizers(), cleanupFinalizer))
	}
	setTerminating(marked, "InstanceDeletionPending", "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon")
	return marked
}

// terminate deletes the objects of a custom resource whose definition is marked for deletion. Once
// all are removed, it removes the finalizer from the definition, and with the last one the
// definition.
func (r *Registry) terminate(definition history.Object, objects *Store) error {
	definitions, name := r.definitions(), definition.GetName()
	if !slices.Contains(definition.GetFinalizers(), cleanupFinalizer) {
		return nil
	}
	_, err := definitions.objects.Apply(name, func(current history.Object) (history.Object, error) {
		if current == nil || current.GetUID() != definition.GetUID() {
			return current, nil
		}
		next := deepCopy(current)
		setTerminating(next, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
		if apiequality.Semantic.DeepEqual(current, next) {
			return current, nil
		}
		return next, nil
	})
	if err != nil {
		return err
	}
	if err := objects.deleteAll(); err != nil || objects.objects.Len() > 0 {
		return err
	}
	if len(definition.GetFinalizers()) == 1 {
		r.drop(name) // before the event of the deletion, so that its receivers find the resource gone
	}
	_, err = definitions.objects.Apply(name, func(current history.Object) (history.Object, error) {
		if current == nil || current.GetUID() != definition.GetUID() {
			return current, nil
		}
		next := resource.Copy(current)
		next.SetFinalizers(slices.DeleteFunc(slices.Clone(current.GetFinalizers()), func(f string) bool { return f == cleanupFinalizer }))
		if len(next.GetFinalizers()) == 0 {
			return nil, nil
		}
		return next, nil
	})
	return err
}

// deleteAll deletes the objects that are not marked for deletion.
func (s *Store) deleteAll() error {
	page, err := s.objects.List("", metav1.ListOptions{}, 0)
	if err != nil {
		return err
	}
	for _, item := range page.Items {
		if item.Object.GetDeletionTimestamp() != nil {
			continue
		}
		_, _, err := s.delete(item.Object.GetNamespace(), item.Object.GetName(), &metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// setTerminating sets the condition Terminating of a CustomResourceDefinition.
func setTerminating(obj history.Object, reason, message string) {
	object := obj.(*unstructured.Unstructured).Object
	status, _, _ := unstructured.NestedMap(object, "status")
	if status == nil {
		status = map[string]any{}
	}
	conditions, _ := status["conditions"].([]any)
	at := now().UTC().Format(timeFormat)
	conditions = slices.DeleteFunc(conditions, func(c any) bool {
		old, _ := c.(map[string]any)
		if old["type"] != "Terminating" {
			return false
		}
		at, _ = old["lastTransitionTime"].(string)
		return true
	})
	status["conditions"] = append(conditions, condition("Terminating", reason, message, at))
	object["status"] = status
}

// establish sets the conditions Established and NamesAccepted, for which clients wait.
func (r *Registry) establish(obj history.Object) error {
	_, err := r.definitions().objects.Apply(history.KeyOf(obj), func(current history.Object) (history.Object, error) {
		if current == nil || isEstablished(current) {
			return current, nil
		}
		next := deepCopy(current).(*unstructured.Unstructured)
		names, _, _ := unstructured.NestedMap(next.Object, "spec", "names")
		at := now().UTC().Format(timeFormat)
		next.Object["status"] = map[string]any{
			"acceptedNames":  names,
			"storedVersions": storedVersions(next),
			"conditions": []any{
				condition("NamesAccepted", "NoConflicts", "no conflicts found", at),
				condition("Established", "InitialNamesAccepted", "the initial names have been accepted", at),
			},
		}
		return next, nil
	})
	return err
}

// timeFormat is the format of times in the API.
const timeFormat = "2006-01-02T15:04:05Z"

func condition(kind, reason, message, at string) map[string]any {
	return map[string]any{"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": at}
}

func isEstablished(obj history.Object) bool {
	conditions, _, _ := unstructured.NestedSlice(obj.(*unstructured.Unstructured).Object, "status", "conditions")
	return len(conditions) > 0
}

// storedVersions returns the name of the storage version.
func storedVersions(definition *unstructured.Unstructured) []any {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["storage"] == true {
			return []any{v["name"]}
		}
	}
	return nil
}

// undefine removes a CustomResourceDefinition at once, with all objects of its resource, even those
// with finalizers. The caller must hold reconciling.
func (r *Registry) undefine(name string, preconditions *metav1.Preconditions) (history.Object, error) {
	s := r.definitions()
	obj, ok := s.objects.Get(name)
	if !ok {
		return nil, s.notFound(name)
	}
	if err := s.checkPreconditions(obj, preconditions); err != nil {
		return nil, err
	}
	r.drop(name)
	gone, err := s.remove(name, obj)
	return gone, errors.Join(err, r.registerCustom())
}

// drop removes the objects of a custom resource and stops serving it, in this order: a watch that
// is withdrawn has delivered the deletions. The caller must hold reconciling.
func (r *Registry) drop(name string) {
	r.mu.RLock()
	custom := r.custom[name]
	r.mu.RUnlock()
	if custom == nil {
		return
	}
	custom.terminating.Store(true) // requests in progress must not create objects
	custom.objects.Clear()
	r.mu.Lock()
	delete(r.custom, name)
	r.withdraw(custom)
	r.mu.Unlock()
	r.memory.Remove(custom.objects)
}
