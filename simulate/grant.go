// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"net/http"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate/internal/rbac"
)

// mayGrant reports whether a request may write a role or a binding.
func (q *request) mayGrant() bool {
	return q.target.resource.Group == rbacv1.GroupName && (q.target.verb == "create" || q.target.verb == "update" || q.target.verb == "patch")
}

// escalation returns the answer to a write of a role or a binding that grants what the process may
// not do itself, or nil. The verbs escalate and bind permit such a write.
func (s *scheduler) escalation(q *request, permissions *rbac.Permissions) *apierrors.StatusError {
	obj := s.written(q)
	if obj == nil || s.isGarbageCollection(obj) {
		return nil
	}
	permit := q.attributes()
	permit.Verb = "escalate"
	isAggregated := false
	var rules []rbacv1.PolicyRule
	var missing *apierrors.StatusError
	switch obj := obj.(type) {
	case *rbacv1.Role:
		rules = obj.Rules
	case *rbacv1.ClusterRole:
		rules, isAggregated = obj.Rules, obj.AggregationRule != nil
	case *rbacv1.RoleBinding:
		permit = bindOf(obj.RoleRef, obj.Namespace)
		rules, missing = s.boundRules(obj.RoleRef, obj.Namespace)
	case *rbacv1.ClusterRoleBinding:
		permit = bindOf(obj.RoleRef, "")
		rules, missing = s.boundRules(obj.RoleRef, "")
	}
	if permissions.Check(permit) == nil {
		return nil
	}
	if missing != nil {
		return missing
	}
	err := permissions.CheckGrant(obj.GetNamespace(), rules)
	if err == nil && isAggregated && permissions.CheckFullAuthority() != nil {
		err = errors.New("must have cluster-admin privileges to use the aggregationRule")
	}
	if err == nil {
		return nil
	}
	return apierrors.NewForbidden(q.target.resource.GroupResource(), obj.GetName(), err)
}

// written returns the object that the server stores if it executes a write, or nil if it refuses
// it.
func (s *scheduler) written(q *request) fake.Object {
	response := s.trial(q, nil)
	if response.code >= http.StatusBadRequest {
		return nil
	}
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(response.body.Bytes(), nil, nil)
	if err != nil {
		return nil
	}
	obj, _ := decoded.(fake.Object)
	return obj
}

// isGarbageCollection reports whether a write changes nothing but finalizers and owners.
func (s *scheduler) isGarbageCollection(obj fake.Object) bool {
	stored := obj.DeepCopyObject().(fake.Object)
	if s.server.Get(stored) != nil {
		return false
	}
	stored.SetFinalizers(obj.GetFinalizers())
	stored.SetOwnerReferences(obj.GetOwnerReferences())
	stored.SetManagedFields(obj.GetManagedFields())
	stored.SetResourceVersion(obj.GetResourceVersion())
	return equality.Semantic.DeepEqual(stored, obj)
}

// roleOf returns the resource of the role that a binding refers to.
func roleOf(ref rbacv1.RoleRef) schema.GroupResource {
	return schema.GroupResource{Group: ref.APIGroup, Resource: strings.ToLower(ref.Kind) + "s"}
}

// bindOf returns the request that permits a binding, whatever the role.
func bindOf(ref rbacv1.RoleRef, namespace string) rbac.Attributes {
	return rbac.Attributes{Verb: "bind", Namespace: namespace, Resource: roleOf(ref), Name: ref.Name}
}

// boundRules returns the rules of the role that a binding refers to.
func (s *scheduler) boundRules(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, *apierrors.StatusError) {
	var rules []rbacv1.PolicyRule
	var err error
	if ref.Kind == "Role" {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ref.Name}}
		err = s.server.Get(role)
		rules = role.Rules
	} else {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ref.Name}}
		err = s.server.Get(role)
		rules = role.Rules
	}
	if err != nil {
		return nil, apierrors.NewNotFound(roleOf(ref), ref.Name)
	}
	return rules, nil
}
