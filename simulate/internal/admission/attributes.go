// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Attributes is what webhooks know of a write.
type Attributes struct {
	Operation   admissionregistrationv1.OperationType
	Kind        schema.GroupVersionKind
	Resource    schema.GroupVersionResource
	Subresource string
	// Namespace and Name are those of the object. For a Namespace, both are its name.
	Namespace, Name string
	// NamespaceLabels are the labels of the Namespace, or of the object if it is one.
	NamespaceLabels labels.Set
	// Object is the new state of the object, and OldObject the stored one. One of them may be nil.
	Object, OldObject *unstructured.Unstructured
	DryRun            bool
	User              string
}

// isNamespace reports whether the object is a Namespace.
func (a *Attributes) isNamespace() bool {
	return a.Resource.Group == "" && a.Resource.Resource == "namespaces"
}

// isOfConfiguration reports whether the object configures admission. No webhook is called for it.
func (a *Attributes) isOfConfiguration() bool {
	return a.Resource.Group == admissionregistrationv1.GroupName
}

// matches reports whether a rule matches the write.
func (a *Attributes) matches(rule admissionregistrationv1.RuleWithOperations) bool {
	return a.matchesScope(rule.Scope) &&
		hasOrAll(rule.Operations, a.Operation) &&
		hasOrAll(rule.APIGroups, a.Resource.Group) &&
		hasOrAll(rule.APIVersions, a.Resource.Version) &&
		slices.ContainsFunc(rule.Resources, a.matchesResource)
}

func (a *Attributes) matchesScope(scope *admissionregistrationv1.ScopeType) bool {
	isNamespaced := a.Namespace != "" && !a.isNamespace()
	switch {
	case scope == nil:
		return true
	case *scope == admissionregistrationv1.NamespacedScope:
		return isNamespaced
	case *scope == admissionregistrationv1.ClusterScope:
		return !isNamespaced
	}
	return *scope == admissionregistrationv1.AllScopes
}

// matchesResource reports whether an element of a rule's resources, such as pods, pods/status,
// pods/* or */status, is that of the write.
func (a *Attributes) matchesResource(element string) bool {
	resource, subresource, _ := strings.Cut(element, "/")
	return (resource == "*" || resource == a.Resource.Resource) && (subresource == "*" || subresource == a.Subresource)
}

// hasOrAll reports whether a list has a value or an asterisk.
func hasOrAll[T ~string](list []T, value T) bool {
	return slices.Contains(list, value) || slices.Contains(list, "*")
}
