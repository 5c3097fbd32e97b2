// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// granting are the rules of a process that writes roles and bindings. It may read Pods.
const granting = `- {apiGroups: [''], resources: [pods], verbs: [get]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [roles, clusterroles, rolebindings, clusterrolebindings], verbs: [get, create, update, patch]}
`

func policy(resource string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}}}
}

func createRole(name, resource string) requestFunc {
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: named(name), Rules: policy(resource)}, metav1.CreateOptions{})
		return err
	}
}

func createClusterRole(resource string, aggregation *rbacv1.AggregationRule) requestFunc {
	return func(ctx context.Context, client kubernetes.Interface) error {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Rules: policy(resource), AggregationRule: aggregation}
		_, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
		return err
	}
}

// createBinding binds a role, which a ClusterRoleBinding does without a namespace.
func createBinding(namespace, kind, role string) requestFunc {
	return func(ctx context.Context, client kubernetes.Interface) error {
		meta, ref := metav1.ObjectMeta{Name: "new"}, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
		if namespace == "" {
			_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref}, metav1.CreateOptions{})
			return err
		}
		_, err := client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref}, metav1.CreateOptions{})
		return err
	}
}

// patchRole changes the Role that reads Secrets.
func patchRole(patch string) requestFunc {
	return func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.RbacV1().Roles(namespace).Patch(ctx, "secrets", "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
		return err
	}
}

// A process cannot grant what it may not do.
func TestGrantsAreCheckedByRoles(t *testing.T) {
	const (
		group = "- {apiGroups: [rbac.authorization.k8s.io], resources: "
		held  = `is attempting to grant RBAC permissions not currently held:`
		get   = `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`
	)
	aggregation := &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"a": "b"}}}}
	objects := []fake.Object{
		&rbacv1.Role{ObjectMeta: named("secrets"), Rules: policy("secrets")}, &rbacv1.Role{ObjectMeta: named("pods"), Rules: policy("pods")},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "secrets"}, Rules: policy("secrets")},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "pods"}, Rules: policy("pods")},
	}
	for _, test := range []struct {
		name, rules string
		do          requestFunc
		want        string // in the failure; empty if the request is permitted
	}{
		{"Role", "", createRole("new", "pods"), ""},
		{"Role for more", "", createRole("new", "secrets"), `roles.rbac.authorization.k8s.io "new" is forbidden: user "system:serviceaccount:default:program"`},
		{"Role for more with escalate", group + "[roles], verbs: [escalate]}", createRole("new", "secrets"), ""},
		{"update of a Role", "", patchRole(`{"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}`), ""},
		{"update of a Role for more", "", patchRole(`{"metadata": {"labels": {"a": "b"}}}`), held},
		{"finalizer of a Role for more", "", patchRole(`{"metadata": {"finalizers": ["example.com/a"], "ownerReferences": []}}`), ""},
		{"ClusterRole", "", createClusterRole("pods", nil), ""},
		{"ClusterRole for more", "", createClusterRole("secrets", nil), get},
		{"ClusterRole for more with escalate", group + "[clusterroles], verbs: [escalate]}", createClusterRole("secrets", nil), ""},
		{"aggregated ClusterRole", "", createClusterRole("pods", aggregation), "must have cluster-admin privileges to use the aggregationRule"},
		{"RoleBinding", "", createBinding(namespace, "Role", "pods"), ""},
		{"RoleBinding for more", "", createBinding(namespace, "Role", "secrets"), `rolebindings.rbac.authorization.k8s.io "new" is forbidden`},
		{"RoleBinding of a ClusterRole for more", "", createBinding(namespace, "ClusterRole", "secrets"), held},
		{"RoleBinding for more with bind", group + "[clusterroles], resourceNames: [secrets], verbs: [bind]}", createBinding(namespace, "ClusterRole", "secrets"), ""},
		{"RoleBinding for more with bind of others", group + "[clusterroles], resourceNames: [pods], verbs: [bind]}", createBinding(namespace, "ClusterRole", "secrets"), held},
		{"ClusterRoleBinding", "", createBinding("", "ClusterRole", "pods"), ""},
		{"ClusterRoleBinding for more", "", createBinding("", "ClusterRole", "secrets"), `clusterrolebindings.rbac.authorization.k8s.io "new" is forbidden`},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := once(test.do)
			program.Objects = objects
			program.Roles = []simulate.Roles{{Files: []string{role(t, "", granting+test.rules)}}}
			if test.want != "" {
				wantFound(t, simulate.Find(t, program, 1), "refused", test.want)
				program.Roles = nil
			}
			wantFound(t, simulate.Find(t, program, 1), "")
		})
	}
}

// A role that is not there cannot be bound, unless its binding is permitted whatever it has.
func TestBindingOfMissingRole(t *testing.T) {
	test := once(createBinding(namespace, "ClusterRole", "missing"))
	test.Roles = []simulate.Roles{{Files: []string{role(t, "", granting)}}}
	if found := simulate.RunOnce(t, test); !strings.Contains(found.Timeline, "1st create of rolebindings default/new: 404 NotFound") {
		t.Errorf("got\n%s", found.Timeline)
	}
	test.Roles = []simulate.Roles{{Files: []string{role(t, "", granting+"- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [bind]}")}}}
	if found := simulate.RunOnce(t, test); !strings.Contains(found.Timeline, "1st create of rolebindings default/new at version") {
		t.Errorf("got\n%s", found.Timeline)
	}
}
