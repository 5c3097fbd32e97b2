// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// subjects are the service account that the programs of simulations have.
var subjects = []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "program"}}

// TestRolesPermitWhatKubeAPIServerDoes sends the same requests to a kube-apiserver, as a service
// account with some roles, and in a simulation with these roles. Those that are refused are the
// same ones, with the same Status.
func TestRolesPermitWhatKubeAPIServerDoes(t *testing.T) {
	c := cluster.New(t, cluster.Options{RBAC: true})
	admin := clientsetFor(t, c)
	create(t, admin.CoreV1().Namespaces().Create, otherNamespace())
	for _, granted := range grantedRoles() {
		create(t, admin.RbacV1().ClusterRoles().Create, granted)
	}
	config := c.Config()
	config.Impersonate.UserName = "system:serviceaccount:default:" + subjects[0].Name
	objects := []fake.Object{otherNamespace()}
	for _, granted := range grantedRoles() {
		objects = append(objects, granted)
	}
	for _, file := range []string{"../examples/controller/role.yaml", "../examples/controllerruntime/role.yaml", "../simulate/testdata/roles/rules.yaml", "../simulate/testdata/roles/grants.yaml"} {
		t.Run(file, func(t *testing.T) {
			unbind := bind(t, admin, config, file)
			actual := answers(t.Context(), t, config)
			unbind()
			var simulated map[string]string
			simulate.Replay(t, simulate.Test{
				Roles:   []simulate.Roles{{Files: []string{file}}},
				Objects: objects,
				Without: []simulate.Oracle{simulate.Refused},
				Start: func(ctx context.Context, config *rest.Config) error {
					simulated = answers(ctx, t, config)
					<-ctx.Done()
					return nil
				},
			}, 0)
			refused := 0
			for request, want := range actual {
				if got := simulated[request]; got != want {
					t.Errorf("%s:\n%s in the simulation\n%s from kube-apiserver", request, got, want)
				}
				if want != permitted {
					refused++
				}
			}
			if permits := len(actual) - refused; refused < 200 || permits < 20 {
				t.Errorf("%d requests are refused and %d permitted, want some of both", refused, permits)
			}
			t.Logf("%d of %d requests are refused", refused, len(actual))
		})
	}
}

func otherNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
}

// grantedRoles returns the roles that bindings of the program refer to.
func grantedRoles() []*rbacv1.ClusterRole {
	var roles []*rbacv1.ClusterRole
	for _, resource := range []string{"pods", "secrets", "nodes"} {
		roles = append(roles, &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: "granted-" + resource},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get", "list"}}},
		})
	}
	return roles
}

// bind creates the roles of a file, binds them to the account, and waits until kube-apiserver
// knows it. The returned function deletes them.
func bind(t *testing.T, admin kubernetes.Interface, account *rest.Config, file string) func() {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before := rulesOf(t, account)
	want, labels := maps.Clone(before), map[string]string{"e2e": "roles"}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch role := obj.(type) {
		case *rbacv1.ClusterRole:
			role.Labels = labels
			create(t, admin.RbacV1().ClusterRoles().Create, role)
			create(t, admin.RbacV1().ClusterRoleBindings().Create, &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: role.Name, Labels: labels}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			})
			for namespace := range want {
				want[namespace] += len(role.Rules)
			}
		case *rbacv1.Role:
			role.Labels = labels
			create(t, admin.RbacV1().Roles(role.Namespace).Create, role)
			create(t, admin.RbacV1().RoleBindings(role.Namespace).Create, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: role.Name, Labels: labels}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			})
			want[role.Namespace] += len(role.Rules)
		}
	}
	waitForRules(t, account, want)
	return func() {
		ctx, options, selected := t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "e2e"}
		err := errors.Join(
			admin.RbacV1().ClusterRoleBindings().DeleteCollection(ctx, options, selected), admin.RbacV1().ClusterRoles().DeleteCollection(ctx, options, selected))
		for namespace := range want {
			err = errors.Join(err, admin.RbacV1().RoleBindings(namespace).DeleteCollection(ctx, options, selected),
				admin.RbacV1().Roles(namespace).DeleteCollection(ctx, options, selected))
		}
		if err != nil {
			t.Fatal(err)
		}
		waitForRules(t, account, before)
	}
}

// rulesOf returns the number of rules that kube-apiserver knows of the account, by namespace.
func rulesOf(t *testing.T, account *rest.Config) map[string]int {
	t.Helper()
	rules := map[string]int{"default": 0, "other": 0}
	for namespace := range rules {
		review, err := kubernetes.NewForConfigOrDie(account).AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(),
			&authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rules[namespace] = len(review.Status.ResourceRules) + len(review.Status.NonResourceRules)
	}
	return rules
}

// waitForRules waits until kube-apiserver, which reads roles from a cache, knows that many.
func waitForRules(t *testing.T, account *rest.Config, want map[string]int) {
	t.Helper()
	var got map[string]int
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		got = rulesOf(t, account)
		return maps.Equal(got, want), nil
	}); err != nil {
		t.Fatalf("kube-apiserver knows %v rules of the account, want %v", got, want)
	}
}

// permitted is the answer to a request that is not refused.
const permitted = "is permitted"

// answers sends requests of each verb for many resources, and to paths without resources. It
// returns the Status of those that are answered with 403, by request.
func answers(ctx context.Context, t *testing.T, config *rest.Config) map[string]string {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Error(err)
		return nil
	}
	all := map[string]string{}
	send := func(method, path, contentType, body string) {
		answer, err := answerOf(ctx, client, method, config.Host+path, contentType, body)
		if err != nil {
			answer = err.Error()
		}
		all[strings.TrimSpace(method+" "+path+" "+contentType)] = answer
	}
	for _, resource := range []string{
		"/api/v1 pods", "/api/v1 configmaps", "/api/v1 secrets", "/api/v1 events", "/api/v1 namespaces", "/api/v1 nodes",
		"/apis/apps/v1 deployments", "/apis/apps/v1 daemonsets", "/apis/coordination.k8s.io/v1 leases", "/apis/events.k8s.io/v1 events",
		"/apis/certificates.k8s.io/v1 certificatesigningrequests", "/apis/rbac.authorization.k8s.io/v1 roles", "/apis/example.com/v1 absents",
	} {
		prefix, plural, _ := strings.Cut(resource, " ")
		for _, namespace := range []string{"", "/namespaces/default", "/namespaces/other"} {
			sendVerbs(send, prefix+namespace+"/"+plural, prefix, plural)
		}
	}
	for _, path := range []string{
		"/api/v1/namespaces/other/status", "/api/v1/namespaces/other/finalize", "/api/v1/namespaces/other/nodes/a",
		"/", "/api", "/api/", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/version/", "/healthz", "/livez", "/readyz", "/healthz/etcd", "/openapi/v2",
		"/openapi/v3", "/metrics", "/metrics/slis", "/logs", "/logs/a", "/configz", "/.well-known/openid-configuration", "/openid/v1/jwks", "/absent",
	} {
		send(http.MethodGet, path, "", "")
	}
	sendGrants(send)
	send(http.MethodPost, "/metrics", "application/json", "{}")
	send(http.MethodPost, "/api", "application/json", "{}")
	for _, review := range []string{
		"authorization.k8s.io/v1/selfsubjectaccessreviews", "authorization.k8s.io/v1/selfsubjectrulesreviews", "authentication.k8s.io/v1/selfsubjectreviews",
		"authorization.k8s.io/v1/subjectaccessreviews", "authentication.k8s.io/v1/tokenreviews", "authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
	} {
		send(http.MethodPost, "/apis/"+review, "application/json", "{}")
	}
	return all
}

// sendVerbs sends requests of each verb for a resource. Its writes are dry runs.
func sendVerbs(send func(method, path, contentType, body string), path, prefix, plural string) {
	const (
		dryRun = "?dryRun=All"
		name   = "/pod-count" // of the examples' objects
	)
	kind := map[string]string{"configmaps": "ConfigMap", "secrets": "Secret", "leases": "Lease", "deployments": "Deployment"}[plural]
	_, version, _ := strings.Cut(strings.TrimPrefix(prefix, "/"), "/")
	object := fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": %q}}`, version, kind, name[1:])
	for _, query := range []string{
		"", "?watch=1", "?watch=true&timeoutSeconds=1", "?watch=0", "?fieldSelector=metadata.name%3Dpod-count", "?watch=1&fieldSelector=metadata.name%3Dpod-count",
		"?fieldSelector=metadata.name%3Dabsent", "?fieldSelector=metadata.name%21%3Dpod-count", "?labelSelector=a", "?limit=1", "?limit=none&fieldSelector=metadata.name%3Dpod-count",
	} {
		send(http.MethodGet, path+query, "", "")
	}
	send(http.MethodPost, path+dryRun, "application/json", object)
	send(http.MethodDelete, path+dryRun, "", "")
	send(http.MethodDelete, path+dryRun+"&fieldSelector=metadata.name%3Dpod-count", "", "")
	for _, object := range []string{name, "/absent"} {
		send(http.MethodHead, path+object, "", "")
		send(http.MethodGet, path+object, "", "")
		send(http.MethodDelete, path+object+dryRun, "", "")
		for _, subresource := range []string{"", "/status", "/scale", "/token"} {
			send(http.MethodPatch, path+object+subresource+dryRun, "application/merge-patch+json", "{}")
			send(http.MethodPut, path+object+subresource+dryRun, "application/json", "{}")
		}
	}
	send(http.MethodPost, path+name+"/eviction"+dryRun, "application/json", "{}")
	if kind != "" && strings.Contains(path, "/namespaces/") {
		send(http.MethodPut, path+name+dryRun+"&fieldValidation=Ignore", "application/json", object) // which creates a Lease
		send(http.MethodPatch, path+name+dryRun+"&fieldManager=e2e", "application/apply-patch+yaml", object)
		send(http.MethodPatch, path+name+"/status"+dryRun+"&fieldManager=e2e", "application/apply-patch+yaml", object)
	}
}

// sendGrants sends writes of roles and bindings, as dry runs.
func sendGrants(send func(method, path, contentType, body string)) {
	const prefix, group = "/apis/rbac.authorization.k8s.io/v1", `"apiVersion": "rbac.authorization.k8s.io/v1"`
	for i, rules := range []string{
		`{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}`,
		`{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "watch", "delete"]}, {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}`,
		`{"apiGroups": [""], "resources": ["pods", "pods/*", "*/status"], "verbs": ["get"]}`,
		`{"apiGroups": ["", "apps"], "resources": ["nodes", "configmaps"], "verbs": ["*"]}`,
		`{"apiGroups": [""], "resources": ["nodes"], "verbs": ["*"]}`,
		`{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one"], "verbs": ["get"]}`,
		`{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one", "two", "three"], "verbs": ["get", "list"]}`,
		`{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}`,
		`{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}`,
		`{"nonResourceURLs": ["/metrics", "/metrics/*"], "verbs": ["get", "post"]}`,
	} {
		for _, name := range []string{"created", "escalated"} {
			role := fmt.Sprintf(`{%s, "kind": "Role", "metadata": {"name": "%s-%d"}, "rules": [%s]}`, group, name, i, rules)
			for _, namespace := range []string{"default", "other"} {
				path := prefix + "/namespaces/" + namespace + "/roles"
				send(http.MethodPost, fmt.Sprintf("%s?dryRun=All&try=%s-%d", path, name, i), "application/json", role)
				escalated := strings.Replace(role, fmt.Sprintf("-%d", i), "", 1)
				send(http.MethodPatch, fmt.Sprintf("%s/%s?dryRun=All&fieldManager=e2e&try=%d", path, name, i), "application/apply-patch+yaml", escalated)
			}
		}
		role := fmt.Sprintf(`{%s, "kind": "ClusterRole", "metadata": {"name": "created"}, "rules": [%s]`, group, rules)
		send(http.MethodPost, fmt.Sprintf("%s/clusterroles?dryRun=All&try=%d", prefix, i), "application/json", role+"}")
		aggregated := role + `, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}`
		send(http.MethodPost, fmt.Sprintf("%s/clusterroles?dryRun=All&aggregated=%d", prefix, i), "application/json", aggregated)
		send(http.MethodPatch, fmt.Sprintf("%s/clusterroles/granted-secrets?dryRun=All&try=%d", prefix, i), "application/merge-patch+json", fmt.Sprintf(`{"rules": [%s]}`, rules))
	}
	for _, patch := range []string{`{"metadata": {"labels": {"a": "b"}}}`, `{"metadata": {"finalizers": ["example.com/a"]}}`, `{}`} {
		send(http.MethodPatch, prefix+"/clusterroles/granted-secrets?dryRun=All&patch="+url.QueryEscape(patch), "application/merge-patch+json", patch)
	}
	for _, role := range []string{"granted-pods", "granted-secrets", "granted-nodes"} {
		body := fmt.Sprintf(`{%s, "kind": "%%s", "metadata": {"name": "created"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": %q}}`, group, role)
		send(http.MethodPost, prefix+"/clusterrolebindings?dryRun=All&role="+role, "application/json", fmt.Sprintf(body, "ClusterRoleBinding"))
		for _, namespace := range []string{"default", "other"} {
			send(http.MethodPost, prefix+"/namespaces/"+namespace+"/rolebindings?dryRun=All&role="+role, "application/json", fmt.Sprintf(body, "RoleBinding"))
		}
	}
}

// answerOf sends a request. It returns the Status of a 403.
func answerOf(ctx context.Context, client *http.Client, method, target, contentType, body string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader([]byte(body)))
	if err != nil {
		return "", err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		return permitted, nil
	}
	if method == http.MethodHead {
		return "403", nil
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	var status metav1.Status
	if err := json.Unmarshal(content, &status); err != nil {
		return "", fmt.Errorf("decode %s: %w", content, err)
	}
	text, err := json.Marshal(status)
	return string(text), err
}
