// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// role returns a file with a ClusterRole of rules, or with a Role if namespace is not empty.
func role(t *testing.T, namespace, rules string) string {
	t.Helper()
	kind := "kind: ClusterRole\nmetadata: {name: program}\n"
	if namespace != "" {
		kind = "kind: Role\nmetadata: {name: program, namespace: " + namespace + "}\n"
	}
	path := filepath.Join(t.TempDir(), "role.yaml")
	if err := os.WriteFile(path, []byte("apiVersion: rbac.authorization.k8s.io/v1\n"+kind+"rules:\n"+rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// once is a program that does a request at its start.
func once(do requestFunc) simulate.Test {
	return simulate.Test{Objects: []fake.Object{source("1")}, Start: withClient(func(ctx context.Context, client kubernetes.Interface) error {
		_ = do(ctx, client)
		<-ctx.Done()
		return nil
	})}
}

// send sends a request without a body.
func send(method, path string) requestFunc {
	return func(ctx context.Context, client kubernetes.Interface) error {
		return client.CoreV1().RESTClient().Verb(method).RequestURI(path).Body([]byte(`{}`)).Do(ctx).Error()
	}
}

// apply applies a Secret that a fieldManager owns.
func apply(name string) requestFunc {
	return func(ctx context.Context, client kubernetes.Interface) error {
		secret := []byte(`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "` + name + `"}, "data": {"key": "MQ=="}}`)
		return client.CoreV1().RESTClient().Patch("application/apply-patch+yaml").Namespace("default").Resource("secrets").Name(name).
			Param("fieldManager", "test").Body(secret).Do(ctx).Error()
	}
}

// putLease updates a Lease, which creates it if there is none.
func putLease(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoordinationV1().Leases("default").Update(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.UpdateOptions{})
	return err
}

// wantPermitted checks that the program receives no 403.
func wantPermitted(t *testing.T, test simulate.Test) {
	t.Helper()
	if found := simulate.RunOnce(t, test); strings.Contains(found.Timeline+found.Text, "403") {
		t.Errorf("got %s\n%s", found.Text, found.Timeline)
	}
}

func TestRequestsAreCheckedByRoles(t *testing.T) {
	const (
		core, pods = "- {apiGroups: [''], resources: ", "/api/v1/namespaces/default/pods"
		user       = `User "system:serviceaccount:default:program" cannot `
	)
	existing := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "existing"}}
	for _, test := range []struct {
		name, rules string
		do          requestFunc
		want        string // in the failure; empty if the request is permitted
	}{
		{"list", core + "[pods], verbs: [get, watch]}", send("GET", pods), "once list of pods default: 403 Forbidden: pods is forbidden: " + user + `list resource "pods" in API group "" in the namespace "default"`},
		{"watch", core + "[pods], verbs: [get, list]}", send("GET", pods+"?watch=1"), user + `watch resource "pods"`},
		{"list everywhere", core + "[pods], verbs: [get]}", send("GET", "/api/v1/pods"), user + `list resource "pods" in API group "" at the cluster scope`},
		{"list of a name", core + "[pods], verbs: [list], resourceNames: [a]}", send("GET", pods+"?fieldSelector=metadata.name%3Da"), ""},
		{"list of another name", core + "[pods], verbs: [list], resourceNames: [a]}", send("GET", pods+"?fieldSelector=metadata.name%3Db"), user + `list resource "pods"`},
		{"watch of a name", core + "[pods], verbs: [watch], resourceNames: [a]}", send("GET", pods+"?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da,spec.nodeName%3Dx"), ""},
		{"deletion of a name's collection", core + "[pods], verbs: [deletecollection], resourceNames: [a]}", send("DELETE", pods+"?fieldSelector=metadata.name%3Da"), user + `deletecollection resource "pods"`},
		{"Namespace itself", core + "[namespaces], verbs: [list]}", send("GET", "/api/v1/namespaces/x"), user + `get resource "namespaces" in API group "" in the namespace "x"`},
		{"subresource", core + "[pods], verbs: ['*']}", send("PUT", pods+"/a/status"), user + `update resource "pods/status"`},
		{"path", core + "[pods], verbs: ['*']}", send("GET", "/metrics"), `once get of /metrics: 403 Forbidden: forbidden: ` + user + `get path "/metrics"`},
		{"discovery", core + "[pods], verbs: [get]}", send("GET", "/apis/apps/v1"), ""},
		{"apply to nothing", core + "[secrets], verbs: [patch]}", apply("new"), user + `create resource "secrets" in API group "" in the namespace "default"`},
		{"apply to nothing, permitted", core + "[secrets], verbs: [patch, create]}", apply("new"), ""},
		{"apply to an object", core + "[secrets], verbs: [patch]}", apply("existing"), ""},
		{"update of nothing that creates", "- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [update]}", putLease, user + `create resource "leases"`},
		{"update of nothing", core + "[secrets], verbs: [update]}", func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.CoreV1().Secrets("default").Update(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.UpdateOptions{})
			return err
		}, ""},
		{"Lease", core + "[secrets], verbs: ['*']}", putLease, user + `update resource "leases" in API group "coordination.k8s.io"`},
		{"dry run", core + "[secrets], verbs: [get]}", correctlyRefused["dry run"], user + `create resource "secrets"`},
		{"absent object", core + "[pods], verbs: [get]}", send("DELETE", pods+"/absent"), user + `delete resource "pods"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := once(test.do)
			program.Objects = append(program.Objects, existing)
			program.Roles = []simulate.Roles{{Files: []string{role(t, "", test.rules)}}}
			if test.want == "" {
				wantPermitted(t, program)
				return
			}
			wantFound(t, simulate.Find(t, program, 1), "refused", "Test.Roles do not permit what the program does (settle 1)", test.want)
			program.Roles = nil
			wantPermitted(t, program)
		})
	}
}

// A Role permits requests in the namespace that it is mapped to.
func TestRolePermitsRequestsInItsNamespace(t *testing.T) {
	test := once(func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
		return err
	})
	test.Without = []simulate.Oracle{simulate.EndState} // it writes nothing
	file := role(t, "system", "- {apiGroups: [''], resources: [configmaps], verbs: [get]}")
	test.Roles = []simulate.Roles{{Files: []string{file}}}
	wantFound(t, simulate.Find(t, test, 1), "refused", `in the namespace "default"`)
	test.Roles[0].Namespaces = map[string]string{"system": "default"}
	wantFound(t, simulate.Find(t, test, 1), "")
}

// A request that is permitted later does not excuse one that was not.
func TestDenialIsNotForgotten(t *testing.T) {
	test := once(func(ctx context.Context, client kubernetes.Interface) error {
		time.Sleep(20*time.Minute + 30*time.Second) // half a minute after the beginning of Steps
		_ = apply("a")(ctx, client)
		time.Sleep(time.Minute)
		return apply("a")(ctx, client)
	})
	test.Steps = func(w *simulate.World) {
		w.Sleep(time.Minute)
		w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
	}
	test.Roles = []simulate.Roles{{Files: []string{role(t, "", "- {apiGroups: [''], resources: [secrets], verbs: [patch]}")}}}
	found := simulate.Find(t, test, 1)
	wantFound(t, found, "refused", "(settle 2)", "once patch of secrets default/a: 403")
	if !strings.Contains(found.Timeline, "2nd patch of secrets default/a at version") {
		t.Errorf("the second apply is not permitted:\n%s", found.Timeline)
	}
}

func TestRequestsOfStoppingProgramAreCheckedByRoles(t *testing.T) {
	test := simulate.Test{Start: withClient(func(ctx context.Context, client kubernetes.Interface) error {
		_ = createSecret(ctx, client, "default", "a")
		<-ctx.Done()
		_ = createSecret(context.WithoutCancel(ctx), client, "other", "a")
		return nil
	})}
	test.Roles = []simulate.Roles{{Files: []string{role(t, "default", "- {apiGroups: [''], resources: [secrets], verbs: [create]}")}}}
	wantFound(t, simulate.Find(t, test, 1), "refused", "Test.Roles do not permit what the program does when it stops", "once create of secrets other/a: 403")
	test.Roles = nil
	wantFound(t, simulate.Find(t, test, 1), "")
}

func TestMayBeRefusedExcusesDenial(t *testing.T) {
	test := once(func(ctx context.Context, client kubernetes.Interface) error {
		return createSecret(ctx, client, "default", "a")
	})
	test.Roles = []simulate.Roles{{Files: []string{role(t, "", "- {apiGroups: [''], resources: [pods], verbs: [get]}")}}}
	wantFound(t, simulate.Find(t, test, 1), "refused")
	test.MayBeRefused = func(verb string, obj fake.Object) bool { return verb == "create" && obj.GetName() == "a" }
	wantFound(t, simulate.Find(t, test, 1), "")
}

// A program may look for resources that a cluster need not have.
func TestMayBeRefusedExcusesDenialOfUnservedResource(t *testing.T) {
	test := once(send("GET", "/apis/route.openshift.io/v1/namespaces/default/routes"))
	test.Without = []simulate.Oracle{simulate.EndState} // it writes nothing
	test.Roles = []simulate.Roles{{Files: []string{role(t, "", "- {apiGroups: [''], resources: [pods], verbs: [get]}")}}}
	wantFound(t, simulate.Find(t, test, 1), "refused", "once list of routes default: 403")
	test.MayBeRefused = func(verb string, obj fake.Object) bool {
		version, kind := obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
		return verb == "list" && version == "route.openshift.io/v1" && kind == "" && obj.GetNamespace() == "default"
	}
	wantFound(t, simulate.Find(t, test, 1), "")
}

func TestProcessesHaveTheirOwnRoles(t *testing.T) {
	test := once(func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		return err
	})
	mayList, mayNot := role(t, "", "- {apiGroups: [''], resources: [pods], verbs: [list]}"), role(t, "", "- {apiGroups: [''], resources: [pods], verbs: [get]}")
	test.Replicas = 2
	test.Roles = []simulate.Roles{{Files: []string{mayList}}, {Files: []string{mayNot}}}
	found := simulate.Find(t, test, 1)
	wantFound(t, found, "refused", "once list of pods default")
	if !strings.Contains(found.Timeline, "process 2  list of pods default: 403 Forbidden") || strings.Contains(found.Timeline, "process 1  list of pods default: 403") {
		t.Errorf("got timeline\n%s", found.Timeline)
	}
}

// Roles are those of the program: Steps and the cluster do what they do.
func TestOthersAreNotCheckedByRoles(t *testing.T) {
	test := once(func(context.Context, kubernetes.Interface) error { return nil })
	test.Roles = []simulate.Roles{{Files: []string{role(t, "", "- {apiGroups: [''], resources: [pods], verbs: [get]}")}}}
	test.Without = []simulate.Oracle{simulate.EndState} // it writes nothing
	test.Cluster = simulate.Workloads()
	test.Steps = func(w *simulate.World) {
		w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
		w.Create(newPod("a"))
		w.Sleep(time.Minute)
		pod := newPod("a")
		if !w.Get(pod) || pod.Status.Phase != corev1.PodRunning {
			t.Errorf("the Pod is %v", pod.Status.Phase)
		}
	}
	wantFound(t, simulate.Find(t, test, 1), "")
}

func TestInvalidRolesAreErrors(t *testing.T) {
	valid := simulate.Roles{Files: []string{role(t, "", "- {apiGroups: [''], resources: [pods], verbs: [get]}")}}
	for want, test := range map[string]simulate.Test{
		"": {Replicas: 2, Roles: []simulate.Roles{valid, valid}},
		"Test.Roles has 2 elements, and Test.Replicas is 3": {Replicas: 3, Roles: []simulate.Roles{valid, valid}},
		"Test.Roles has 2 elements, and Test.Replicas is 0": {Roles: []simulate.Roles{valid, valid}},
		"Test.Roles[1]: open absent.yaml":                   {Replicas: 2, Roles: []simulate.Roles{valid, {Files: []string{"absent.yaml"}}}},
	} {
		if err := simulate.ReadRoles(test); fmt.Sprint(err) != "<nil>" && want == "" || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
