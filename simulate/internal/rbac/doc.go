// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package rbac says what an account with given ClusterRoles and Roles may do, as kube-apiserver's
// RBAC authorizer does.
//
// [Read] reads the roles from files, and [Permissions.Check] returns the answer to a request that
// they do not permit. A ClusterRole is taken as bound by a ClusterRoleBinding, a Role by a
// RoleBinding in its namespace. What every service account may do is added.
//
// Permissions are not modified after Read, and are safe for concurrent use.
package rbac
