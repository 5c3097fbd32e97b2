// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import rbacv1 "k8s.io/api/rbac/v1"

// setRoleBinding sets the API group of the role and of the subjects of a binding.
func setRoleBinding(role *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	setZero(&role.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if kind := subjects[i].Kind; kind == rbacv1.UserKind || kind == rbacv1.GroupKind {
			setZero(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}
