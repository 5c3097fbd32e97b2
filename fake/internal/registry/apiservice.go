// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// managedLabel is the label of the APIServices that the server itself creates: at the start those
// of its built-in groups and versions, and later those of custom resources.
const (
	managedLabel   = "kube-aggregator.kubernetes.io/automanaged"
	managedOnStart = "onstart"
	managedAlways  = "true"
)

// aggregatedAPI is a group and version of an aggregated API server, for which an APIService exists.
type aggregatedAPI struct {
	*resource.APIService
	stores []*Store // none if no server with the group and version exists
}

func (a *aggregatedAPI) available() bool { return a.Available == string(metav1.ConditionTrue) }

func (s *Store) storesAPIServices() bool {
	return s.Kind.Kind == "APIService" && s.Group == "apiregistration.k8s.io"
}

func (r *Registry) apiServices() *Store {
	return r.ForResource(resource.APIServices().GroupVersionResource)
}

// registerBuiltIn adds the APIServices of the built-in groups and versions. They have the version
// at which the memory begins, and UIDs that no created object has.
func (r *Registry) registerBuiltIn() {
	services := r.apiServices()
	for i, api := range r.APIs() {
		if api.Group == services.Group {
			continue // kube-aggregator itself serves it
		}
		obj := resource.NewAPIService(api.GroupVersion, api.Priority, "")
		obj.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)))
		obj.SetCreationTimestamp(now())
		obj.SetLabels(map[string]string{managedLabel: managedOnStart})
		setAvailable(obj, local())
		services.objects.Seed(obj.GetName(), obj)
	}
}

// registerCustom creates the missing APIServices of the served versions of custom resources, and
// removes those of versions that are no longer served. The caller must hold reconciling.
func (r *Registry) registerCustom() error {
	services := r.apiServices()
	page, err := services.objects.List("", metav1.ListOptions{}, 0)
	if err != nil {
		return err
	}
	served := r.customVersions()
	for _, item := range page.Items {
		name := item.Object.GetName()
		if _, ok := served[name]; ok || item.Object.GetLabels()[managedLabel] != managedAlways {
			delete(served, name)
			continue
		}
		if _, err := services.remove(name, item.Object); err != nil {
			return err
		}
	}
	for _, gv := range served {
		obj := resource.NewAPIService(gv, resource.CustomPriority(), "")
		obj.SetLabels(map[string]string{managedLabel: managedAlways})
		services.setServerFields(obj)
		setAvailable(obj, local())
		_, err := services.objects.Apply(obj.GetName(), func(current history.Object) (history.Object, error) {
			if current != nil {
				return current, nil
			}
			return obj, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// customVersions returns the served groups and versions of custom resources, by the names of their
// APIServices.
func (r *Registry) customVersions() map[string]schema.GroupVersion {
	r.mu.RLock()
	defer r.mu.RUnlock()
	versions := map[string]schema.GroupVersion{}
	for gvr, s := range r.byResource {
		if s.custom != nil {
			versions[gvr.Version+"."+gvr.Group] = gvr.GroupVersion()
		}
	}
	return versions
}

// reconcileAPIService does what the APIService with the name says: it serves the group and version
// of an aggregated API server, answers 503 for one that is not available, or serves what is in the
// registry. The caller must hold reconciling.
func (r *Registry) reconcileAPIService(name string) error {
	version, group, _ := strings.Cut(name, ".")
	gv := schema.GroupVersion{Group: group, Version: version}
	obj, ok := r.apiServices().objects.Get(name)
	if !ok {
		r.aggregate(gv, nil)
		return r.registerCustom()
	}
	service, err := resource.FromAPIService(obj)
	if err != nil {
		return err
	}
	if service.Available == "" {
		return r.establishAPIService(obj, service)
	}
	if service.Service == "" {
		service = nil
	}
	r.aggregate(gv, service)
	return nil
}

// aggregate serves the group and version of an aggregated API server. A nil service ends that.
// Watches end when the API is no longer available, as those of a server that is down.
func (r *Registry) aggregate(gv schema.GroupVersion, service *resource.APIService) {
	r.mu.Lock()
	defer r.mu.Unlock()
	api := &aggregatedAPI{APIService: service}
	if old := r.aggregated[gv]; old != nil {
		api.stores = old.stores
		if service == nil || (old.available() && !api.available()) {
			for _, s := range old.stores {
				close(s.withdrawn)
			}
			api.stores = nil
		}
	}
	if service == nil {
		delete(r.aggregated, gv)
		return
	}
	for _, s := range r.extensions[gv][len(api.stores):] {
		api.stores = append(api.stores, r.newStore(s.Resource, s.objects, s.custom))
	}
	r.aggregated[gv] = api
}

// Extend adds an aggregated API server with a custom resource. It serves the resource once there is
// an APIService for the group and version.
func (r *Registry) Extend(definition history.Object) error {
	defined, err := resource.FromDefinition(definition)
	if err != nil {
		return err
	}
	custom := &customResource{
		objects: r.collection(defined.Stored),
		types:   sync.OnceValue(func() managedfields.TypeConverter { return customTypes(defined) }),
	}
	r.mu.Lock()
	for _, res := range defined.Served {
		gv := res.GroupVersion()
		r.extensions[gv] = append(r.extensions[gv], r.newStore(res, custom.objects, custom))
	}
	r.mu.Unlock()
	services := r.apiServices()
	for _, res := range defined.Served {
		gv := res.GroupVersion()
		obj := resource.NewAPIService(gv, resource.CustomPriority(), "default/"+strings.ReplaceAll(gv.Group, ".", "-"))
		if _, err = services.Create("", obj, Trusted); apierrors.IsAlreadyExists(err) {
			err = r.serveAgain(obj.GetName())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// serveAgain reconciles an APIService without a write.
func (r *Registry) serveAgain(name string) error {
	r.reconciling.Lock()
	defer r.reconciling.Unlock()
	return r.reconcileAPIService(name)
}

// SetAvailable sets the condition Available of an APIService.
func (r *Registry) SetAvailable(name string, available bool) error {
	s := r.apiServices()
	c := availability{metav1.ConditionTrue, "Passed", "all checks passed"}
	if !available {
		c = availability{metav1.ConditionFalse, "FailedDiscoveryCheck", "failing or missing response from the aggregated API server"}
	}
	defer s.lockServed()()
	_, err := s.objects.Apply(name, func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, s.notFound(name)
		}
		next := deepCopy(current)
		setAvailable(next, c)
		return next, nil
	})
	if err != nil {
		return err
	}
	return s.settle(name)
}

// Unavailable reports whether a group and version is that of an aggregated API server that is not
// available.
func (r *Registry) Unavailable(gv schema.GroupVersion) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	api := r.aggregated[gv]
	return api != nil && !api.available()
}

// establishAPIService sets the first condition of an APIService, by which its group and version are
// served from then on.
func (r *Registry) establishAPIService(obj history.Object, service *resource.APIService) error {
	condition := local()
	if service.Service != "" {
		r.mu.RLock()
		_, exists := r.extensions[service.GroupVersion]
		r.mu.RUnlock()
		condition = availability{metav1.ConditionTrue, "Passed", "all checks passed"}
		if namespace, name, _ := strings.Cut(service.Service, "/"); !exists {
			condition = availability{metav1.ConditionFalse, "ServiceNotFound", fmt.Sprintf("service/%s in %q is not present", name, namespace)}
		}
	}
	service.Available = string(condition.status)
	if service.Service != "" {
		r.aggregate(service.GroupVersion, service)
	}
	_, err := r.apiServices().objects.Apply(obj.GetName(), func(current history.Object) (history.Object, error) {
		if current == nil || current.GetUID() != obj.GetUID() {
			return current, nil
		}
		next := deepCopy(current)
		setAvailable(next, condition)
		return next, nil
	})
	return err
}

// availability is the condition Available of an APIService.
type availability struct {
	status          metav1.ConditionStatus
	reason, message string
}

// local returns the condition of a group and version that the server itself serves.
func local() availability {
	return availability{metav1.ConditionTrue, "Local", "Local APIServices are always available"}
}

// setAvailable replaces the conditions of an APIService.
func setAvailable(obj history.Object, a availability) {
	at := now().UTC().Format(timeFormat)
	object := obj.(*unstructured.Unstructured).Object
	object["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "Available", "status": string(a.status), "reason": a.reason, "message": a.message, "lastTransitionTime": at,
	}}}
}

// aggregatedStore returns the store of a resource of an aggregated API server. It returns false if
// the group and version is not that of one. The caller must hold mu.
func (r *Registry) aggregatedStore(gv schema.GroupVersion, matches func(*Store) bool) (*Store, bool) {
	api, ok := r.aggregated[gv]
	if !ok {
		return nil, false
	}
	if i := slices.IndexFunc(api.stores, matches); i >= 0 {
		return api.stores[i], true
	}
	return nil, true
}
