// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/e2e/cluster"
)

// password is the value of a Secret, which must not be in any output.
const password = "hunter2-hunter2"

// costHarness runs "kinformer cost" with a cluster that records its requests.
type costHarness struct {
	program, kubeconfig string
	audit               string // the file of the audit log
	seen                int    // lines of it
}

// costReport is the part of the command's report in JSON that the test checks.
type costReport struct {
	Resources []struct {
		Resource, Format string
		Objects          int
		WireBytes        int64
		Caches           []struct {
			Cache     string
			HeapBytes int64
		}
	}
	Skipped []struct{ Resource, Reason string }
}

// TestCostProcess runs the command as users do, against a kube-apiserver with permissions, custom
// resources, an aggregated API that is down, and Secrets.
func TestCostProcess(t *testing.T) {
	t.Parallel()
	h, c := startCost(t)
	ns := populate(t, c)

	t.Run("named", func(t *testing.T) {
		report, stdout, stderr := h.mustRun(t, "configmaps", "widgets.cost.example.com", "secrets", "--secrets", "--namespace="+ns, "--yes", "-o=json", "--qps=50")
		expectMeasured(t, report, map[string]int{"configmaps": 703, "widgets.cost.example.com": 3, "secrets": 1})
		if strings.Contains(stdout+stderr, password) {
			t.Error("the output has the value of a Secret")
		}
		h.expectRequests(t,
			"configmaps limit=1", "widgets limit=1", "secrets limit=1",
			"configmaps limit=500", "configmaps limit=500 continued", "widgets limit=500", "secrets limit=500")
	})
	t.Run("all", func(t *testing.T) {
		_, stderr := h.run(t, 1, "--all", "--qps=200") // without an answer to the question
		expectLines(t, stderr, " resources, probably below 1 MB ", "skipped: events, events.events.k8s.io (Events)", "skipped: secrets (Secrets, without --secrets)",
			"skipped: down.example.com/v1 (the server cannot list the resources of this group: ", "nothing was read")
		for _, request := range h.requests(t) {
			if !strings.HasSuffix(request, " limit=1") && request != "apiservices limit=500" {
				t.Errorf("request before the answer: %s", request)
			}
		}
	})
	t.Run("with few permissions", func(t *testing.T) {
		_, stderr := h.run(t, 1, "--all", "--qps=200", "--as=reader")
		expectLines(t, stderr, "configmaps ", "(may not be listed)", "widgets.cost.example.com (may be an aggregated API, as APIServices may not be listed")
		_, stderr = h.run(t, 1, "nodes", "--yes", "--as=reader")
		expectLines(t, stderr, `kinformer: list nodes: nodes is forbidden: User "reader" cannot list resource "nodes"`)
	})
}

// startCost starts a cluster with authorization and an audit log, and builds the command.
func startCost(t *testing.T) (*costHarness, *cluster.Cluster) {
	t.Helper()
	dir := t.TempDir()
	policy, audit := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	const text = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := cluster.New(t, cluster.Options{RBAC: true, APIServerArgs: []string{
		"--audit-policy-file=" + policy, "--audit-log-path=" + audit, "--audit-log-mode=blocking-strict",
	}})
	return &costHarness{program: buildKinformer(t), kubeconfig: writeKubeconfig(t, c), audit: audit}, c
}

func buildKinformer(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "kinformer")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = "../cmd/kinformer"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build kinformer: %v\n%s", err, out)
	}
	return program
}

// populate creates what the test measures and skips, and returns the namespace of the objects to
// measure.
func populate(t *testing.T, c *cluster.Cluster) (ns string) {
	t.Helper()
	clientset := clientsetFor(t, c)
	ns = namespace(t, clientset)
	for i := range 703 {
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("config-", i)}, Data: map[string]string{"text": strings.Repeat("x", i)}}
		create(t, clientset.CoreV1().ConfigMaps(ns).Create, configMap)
	}
	create(t, clientset.CoreV1().Secrets(ns).Create, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"password": password}})
	allowReader(t, clientset)

	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	widgets := defineWidgets(t, client, "cost.example.com")
	for i := range 3 {
		widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": widgets.GroupVersion().String(), "kind": "Widget"}}
		widget.SetName(fmt.Sprint("widget-", i))
		createUnstructured(t, client.Resource(widgets).Namespace(ns), widget)
	}
	createUnstructured(t, client.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}),
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1.down.example.com"},
			"spec": map[string]any{
				"group": "down.example.com", "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(10),
				"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": ns, "name": "down"},
			},
		}})
	return ns
}

// allowReader allows the user "reader" to list ConfigMaps, and nothing else.
func allowReader(t *testing.T, clientset kubernetes.Interface) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "reader"}
	create(t, clientset.RbacV1().ClusterRoles().Create, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
	}})
	create(t, clientset.RbacV1().ClusterRoleBindings().Create, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "reader"}},
	})
}

// create creates an object with a method of a clientset.
func create[T any](t *testing.T, method func(context.Context, T, metav1.CreateOptions) (T, error), obj T) {
	t.Helper()
	if _, err := method(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func createUnstructured(t *testing.T, client dynamic.ResourceInterface, obj *unstructured.Unstructured) {
	t.Helper()
	if _, err := client.Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// run runs the command and checks its exit code.
func (h *costHarness) run(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), h.program, append([]string{"cost", "--kubeconfig", h.kubeconfig}, args...)...)
	var out, err bytes.Buffer
	command.Stdout, command.Stderr = &out, &err
	runErr := command.Run()
	if got := command.ProcessState.ExitCode(); got != code {
		t.Fatalf("kinformer cost %s: %v, want exit code %d; stderr:\n%s", args, runErr, code, err.String())
	}
	return out.String(), err.String()
}

func (h *costHarness) mustRun(t *testing.T, args ...string) (report costReport, stdout, stderr string) {
	t.Helper()
	stdout, stderr = h.run(t, 0, args...)
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	return report, stdout, stderr
}

// expectMeasured checks the number of objects of each resource, and that all caches were measured.
func expectMeasured(t *testing.T, report costReport, objects map[string]int) {
	t.Helper()
	if len(report.Resources) != len(objects) {
		t.Errorf("%d resources, want %d", len(report.Resources), len(objects))
	}
	for _, r := range report.Resources {
		if want := objects[r.Resource]; r.Objects != want || r.WireBytes <= 0 || len(r.Caches) < 5 {
			t.Errorf("%s: %d objects, %d bytes, %d caches; want %d objects", r.Resource, r.Objects, r.WireBytes, len(r.Caches), want)
		}
	}
}

func expectLines(t *testing.T, text string, want ...string) {
	t.Helper()
	unwrapped := strings.Join(strings.Fields(text), " ")
	for _, line := range want {
		if !strings.Contains(unwrapped, line) {
			t.Errorf("the output does not contain %q:\n%s", line, text)
		}
	}
}

// requests returns the command's requests for resources since the last call, from the audit log.
func (h *costHarness) requests(t *testing.T) []string {
	t.Helper()
	file, err := os.Open(h.audit)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var requests []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	number := 0
	for ; lines.Scan(); number++ {
		if number < h.seen {
			continue
		}
		if text := auditedRequest(t, lines.Bytes()); text != "" {
			requests = append(requests, text)
		}
	}
	h.seen = number
	return requests
}

// auditedRequest returns the text of a request of the command, or "" for other requests.
func auditedRequest(t *testing.T, line []byte) string {
	t.Helper()
	var event struct {
		Verb, UserAgent, RequestURI string
		ObjectRef                   *struct{ Resource string }
	}
	if err := json.Unmarshal(line, &event); err != nil {
		t.Fatal(err)
	}
	if event.UserAgent != "kinformer cost" || event.ObjectRef == nil {
		return ""
	}
	if event.Verb != "list" {
		return event.Verb + " " + event.RequestURI
	}
	address, err := url.Parse(event.RequestURI)
	if err != nil {
		t.Fatal(err)
	}
	text := event.ObjectRef.Resource + " limit=" + address.Query().Get("limit")
	if address.Query().Has("continue") {
		text += " continued"
	}
	return text
}

func (h *costHarness) expectRequests(t *testing.T, want ...string) {
	t.Helper()
	if got := h.requests(t); !slices.Equal(got, want) {
		t.Errorf("requests:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
