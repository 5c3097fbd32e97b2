// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/simulate/internal/rbac"
)

const roles = `# the roles of a program
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: manager
rules:
- apiGroups: [""]
  resources: [pods, pods/status, namespaces]
  verbs: [get, list]
- apiGroups: [apps]
  resources: ["*"]
  verbs: ["*"]
- apiGroups: ["*"]
  resources: ["*/scale"]
  verbs: [update]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [one, two]
  verbs: [get, list, update, create, deletecollection]
- nonResourceURLs: [/metrics, "/debug/*"]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: election
  namespace: system
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, create, update]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [delete]
`

// file writes a file of the test.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "role.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, content string, namespaces map[string]string) *rbac.Permissions {
	t.Helper()
	p, err := rbac.Read([]string{file(t, content)}, namespaces)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// request returns attributes from "verb resource.group/subresource namespace/name", in which parts
// may be missing, or from "verb /path".
func request(text string) rbac.Attributes {
	verb, rest, _ := strings.Cut(text, " ")
	if strings.HasPrefix(rest, "/") {
		return rbac.Attributes{Verb: verb, Path: rest}
	}
	what, key, _ := strings.Cut(rest, " ")
	resource, subresource, _ := strings.Cut(what, "/")
	namespace, name, _ := strings.Cut(key, "/")
	return rbac.Attributes{Verb: verb, Resource: schema.ParseGroupResource(resource), Subresource: subresource, Namespace: namespace, Name: name}
}

func TestPermittedRequests(t *testing.T) {
	p := read(t, roles, map[string]string{"system": "prod"})
	for _, text := range []string{
		"get pods default/a", "list pods", "list pods default/", "get pods/status default/a",
		"create deployments.apps default/", "patch deployments.apps/status default/a", "deletecollection replicasets.apps",
		"update statefulsets.apps/scale default/a", "update clusters.example.com/scale default/a",
		"get secrets default/one", "list secrets default/two", "update secrets /two",
		"get /metrics", "get /debug/pprof", "get /debug/",
		"update leases.coordination.k8s.io prod/a", "create leases.coordination.k8s.io prod/", "delete namespaces prod/prod", "get namespaces other/other",
		"get /api", "get /api/v1", "get /apis/apps/v1", "get /openapi/v3", "get /version", "get /healthz",
		"create selfsubjectaccessreviews.authorization.k8s.io", "create selfsubjectreviews.authentication.k8s.io",
	} {
		if denied := p.Check(request(text)); denied != nil {
			t.Errorf("%s: %v", text, denied)
		}
	}
}

func TestDeniedRequests(t *testing.T) {
	p := read(t, roles, map[string]string{"system": "prod"})
	for text, want := range map[string]string{
		"watch pods":                                       `pods is forbidden: User "USER" cannot watch resource "pods" in API group "" at the cluster scope`,
		"watch pods x/":                                    `pods is forbidden: User "USER" cannot watch resource "pods" in API group "" in the namespace "x"`,
		"get pods/log x/a":                                 `pods "a" is forbidden: User "USER" cannot get resource "pods/log" in API group "" in the namespace "x"`,
		"get pods.metrics.k8s.io x/a":                      `pods.metrics.k8s.io "a" is forbidden: User "USER" cannot get resource "pods" in API group "metrics.k8s.io" in the namespace "x"`,
		"update clusters.example.com x/a":                  `clusters.example.com "a" is forbidden: User "USER" cannot update resource "clusters" in API group "example.com" in the namespace "x"`,
		"get clusters.example.com/scale x/a":               `clusters.example.com "a" is forbidden: User "USER" cannot get resource "clusters/scale" in API group "example.com" in the namespace "x"`,
		"get secrets x/three":                              `secrets "three" is forbidden: User "USER" cannot get resource "secrets" in API group "" in the namespace "x"`,
		"list secrets x/":                                  `secrets is forbidden: User "USER" cannot list resource "secrets" in API group "" in the namespace "x"`,
		"create secrets x/":                                `secrets is forbidden: User "USER" cannot create resource "secrets" in API group "" in the namespace "x"`,
		"deletecollection secrets x/":                      `secrets is forbidden: User "USER" cannot deletecollection resource "secrets" in API group "" in the namespace "x"`,
		"get leases.coordination.k8s.io x/a":               `leases.coordination.k8s.io "a" is forbidden: User "USER" cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "x"`,
		"list leases.coordination.k8s.io":                  `leases.coordination.k8s.io is forbidden: User "USER" cannot list resource "leases" in API group "coordination.k8s.io" at the cluster scope`,
		"delete namespaces x/x":                            `namespaces "x" is forbidden: User "USER" cannot delete resource "namespaces" in API group "" in the namespace "x"`,
		"get /metrics/a":                                   `forbidden: User "USER" cannot get path "/metrics/a"`,
		"post /metrics":                                    `forbidden: User "USER" cannot post path "/metrics"`,
		"get /a&<b>":                                       `forbidden: User "USER" cannot get path "/a&amp;&lt;b&gt;"`,
		"create subjectaccessreviews.authorization.k8s.io": `subjectaccessreviews.authorization.k8s.io is forbidden: User "USER" cannot create resource "subjectaccessreviews" in API group "authorization.k8s.io" at the cluster scope`,
	} {
		denied := p.Check(request(text))
		if denied == nil {
			t.Errorf("%s is permitted", text)
			continue
		}
		if want := strings.ReplaceAll(want, "USER", rbac.User); denied.Error() != want || denied.ErrStatus.Code != 403 {
			t.Errorf("%s: got %d %s\nwant 403 %s", text, denied.ErrStatus.Code, denied, want)
		}
	}
}

func TestRolesOfSeveralFilesAdd(t *testing.T) {
	other := strings.NewReplacer("[pods, pods/status, namespaces]", "[nodes]", "namespace: system", "namespace: other").Replace(roles)
	p, err := rbac.Read([]string{file(t, roles), file(t, other)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"list pods", "list nodes", "get leases.coordination.k8s.io system/a", "get leases.coordination.k8s.io other/a"} {
		if denied := p.Check(request(text)); denied != nil {
			t.Errorf("%s: %v", text, denied)
		}
	}
}

func TestInvalidFilesAreErrors(t *testing.T) {
	for replaced, want := range map[string]string{
		"verbs: [get, list]->":                                      `ClusterRole "manager": rules[0].verbs is empty`,
		"verbs: [get, list]->verb: [get, list]":                     `unknown field "rules[0].verb"`,
		"apiGroups: [apps]->apiGroups: []":                          `ClusterRole "manager": rules[1].apiGroups is empty`,
		`resources: ["*"]->resources: []`:                           `ClusterRole "manager": rules[1].resources is empty`,
		"- nonResourceURLs->- apiGroups: [\"\"]\n  nonResourceURLs": `ClusterRole "manager": rules[4] has resources and nonResourceURLs`,
		"resources: [leases]->nonResourceURLs: [/metrics]":          `Role "election": rules[0].nonResourceURLs: a Role permits requests in its namespace only`,
		"  name: manager->  name: manager\naggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}": `ClusterRole "manager": aggregationRule is not supported`,
		"kind: Role\n->kind: RoleBinding\n": `unknown field "rules"`,
		"kind: Role\n->kind: Roll\n":        `no kind "Roll" is registered`,
		"  namespace: system->":             `Role "election": metadata.namespace is empty, and is not mapped to another`,
	} {
		before, after, _ := strings.Cut(replaced, "->")
		if strings.Count(roles, before) != 1 {
			t.Fatalf("%q is not in the roles once", before)
		}
		if _, err := rbac.Read([]string{file(t, strings.Replace(roles, before, after, 1))}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", replaced, err, want)
		}
	}
	for content, want := range map[string]string{
		"":                              "role.yaml: no ClusterRole and no Role",
		"# nothing":                     "role.yaml: no ClusterRole and no Role",
		"apiVersion: v1\nkind: Service": "v1 Service is neither a ClusterRole nor a Role of rbac.authorization.k8s.io/v1",
		"{":                             "role.yaml: ",
	} {
		if _, err := rbac.Read([]string{file(t, content)}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", content, err, want)
		}
	}
	if _, err := rbac.Read([]string{"absent.yaml"}, nil); err == nil || !strings.Contains(err.Error(), "absent.yaml") {
		t.Errorf("got %v of a missing file", err)
	}
	if _, err := rbac.Read([]string{file(t, roles)}, map[string]string{"systems": "prod"}); err == nil || !strings.Contains(err.Error(), `namespace "systems" is mapped, and no Role has it`) {
		t.Errorf("got %v of a mapped namespace that no Role has", err)
	}
}
