// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Apply merges a configuration, in YAML or JSON, into an object by server-side apply, and writes it
// with the given method. It creates an object that does not exist, except through a subresource,
// and reports whether it did. Fields that the caller's manager has applied before and that the
// configuration does not have are removed. A field that another manager owns is a conflict, 409,
// unless force is set. Apply retries if another client has updated the object meanwhile. What
// changes nothing is not written.
func (s *Store) Apply(namespace, name string, configuration []byte, force bool, write Writer, mode Mode) (history.Object, bool, error) {
	for attempt := 1; ; attempt++ {
		stored, created, lostRace, err := s.applyOnce(namespace, name, configuration, force, write, mode)
		if !lostRace || attempt == patchAttempts {
			return stored, created, err
		}
	}
}

// applyOnce is an attempt of Apply. It reports whether it failed because of another client's write.
func (s *Store) applyOnce(
	namespace, name string, configuration []byte, force bool, write Writer, mode Mode,
) (stored history.Object, created, lostRace bool, err error) {
	config, err := s.decodeConfiguration(configuration)
	if err != nil {
		return nil, false, false, err
	}
	live, current := s.fields.empty(), history.Object(nil)
	if found, ok := s.objects.Get(history.Key(namespace, name)); ok {
		live, current = s.Present(found), found
	} else if s.caller.Subresource != "" {
		return nil, false, false, s.notFound(name)
	}
	next, err := s.fields.apply(live, config, s.caller, force)
	if err != nil {
		return nil, false, false, err
	}
	caller := s.caller
	caller.applied = true
	if current == nil {
		stored, err = s.For(caller).createApplied(namespace, name, next, mode)
		return stored, true, apierrors.IsAlreadyExists(err), err
	}
	if err := s.checkPatchedUID(next, current); err != nil {
		return nil, false, false, err
	}
	stored, _, err = write(s.For(caller), namespace, name, next, mode)
	return stored, false, isLostRace(err, next, current), err
}

// createApplied creates an object from an applied configuration.
func (s *Store) createApplied(namespace, name string, obj history.Object, mode Mode) (history.Object, error) {
	if obj.GetUID() != "" {
		err := fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", obj.GetUID())
		return nil, apierrors.NewConflict(s.GroupResource(), name, err)
	}
	if err := s.checkUpdate(namespace, name, obj); err != nil {
		return nil, err
	}
	obj.SetResourceVersion("") // ignored, as by the real server
	return s.Create(namespace, obj, mode)
}

// decodeConfiguration decodes an applied configuration, without the fields that the write does not
// change: those have no manager.
func (s *Store) decodeConfiguration(data []byte) (*unstructured.Unstructured, error) {
	config := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &config.Object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	if config.Object == nil {
		config.Object = map[string]any{}
	}
	switch {
	case s.caller.Subresource == "status":
		maps.DeleteFunc(config.Object, func(field string, _ any) bool {
			return field == "spec"
		})
		s.removeKeptMetadata(config)
	case s.HasStatus:
		delete(config.Object, "status")
	}
	return config, nil
}

// removeKeptMetadata removes the metadata that UpdateStatus keeps from an applied configuration.
func (s *Store) removeKeptMetadata(config *unstructured.Unstructured) {
	metadata, _ := config.Object["metadata"].(map[string]any)
	switch {
	case s.Rules.StatusKeepsMetadata:
		maps.DeleteFunc(metadata, func(field string, _ any) bool {
			return field != "name" && field != "namespace" && field != "uid" && field != "resourceVersion" && field != "managedFields"
		})
	case s.Rules.StatusKeepsLabels:
		delete(metadata, "labels")
	case s.Kind == corev1.SchemeGroupVersion.WithKind("Pod"):
		delete(metadata, "ownerReferences")
	}
}
