// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// write returns what a webhook knows of a write: "CREATE apps/v1 deployments/scale ns/a".
func write(t *testing.T, text string) *Attributes {
	t.Helper()
	operation, rest, _ := strings.Cut(text, " ")
	version, rest, _ := strings.Cut(rest, " ")
	resource, key, ok := strings.Cut(rest, " ")
	if !ok {
		t.Fatalf("%q is no write", text)
	}
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	a := &Attributes{Operation: admissionregistrationv1.OperationType(operation), Name: key}
	resource, a.Subresource, _ = strings.Cut(resource, "/")
	a.Resource = gv.WithResource(resource)
	if namespace, name, ok := strings.Cut(key, "/"); ok {
		a.Namespace, a.Name = namespace, name
	}
	a.NamespaceLabels = labels.Set{"kubernetes.io/metadata.name": a.Namespace, "team": "blue"}
	return a
}

// parse returns the webhook of a configuration with one.
func parse(t *testing.T, text string) *Webhook {
	t.Helper()
	var w admissionregistrationv1.ValidatingWebhook
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	w.ClientConfig.Service = &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: "s"}
	all, err := OfValidating(&admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{w}})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func TestRules(t *testing.T) {
	for rule, writes := range map[string]struct{ matching, others []string }{
		`{operations: [CREATE, UPDATE], apiGroups: [apps], apiVersions: [v1], resources: [deployments]}`: {
			[]string{"CREATE apps/v1 deployments ns/a", "UPDATE apps/v1 deployments ns/a"},
			[]string{"DELETE apps/v1 deployments ns/a", "CREATE apps/v1beta1 deployments ns/a", "CREATE example.com/v1 deployments ns/a",
				"CREATE apps/v1 replicasets ns/a", "UPDATE apps/v1 deployments/status ns/a"},
		},
		`{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}`: {
			[]string{"DELETE v1 pods ns/a", "CREATE v1 namespaces a/a", "CREATE example.com/v1 clusters ns/a"},
			[]string{"UPDATE v1 pods/status ns/a", "UPDATE admissionregistration.k8s.io/v1 mutatingwebhookconfigurations a"},
		},
		`{operations: ["*"], apiGroups: [""], apiVersions: ["*"], resources: ["*/*"]}`: {
			[]string{"UPDATE v1 pods ns/a", "UPDATE v1 pods/status ns/a"}, []string{"UPDATE apps/v1 deployments ns/a"},
		},
		`{operations: ["*"], apiGroups: [""], apiVersions: ["*"], resources: ["*/status"]}`: {
			[]string{"UPDATE v1 pods/status ns/a", "UPDATE v1 nodes/status a"}, []string{"UPDATE v1 pods ns/a", "CREATE v1 pods/binding ns/a"},
		},
		`{operations: ["*"], apiGroups: [""], apiVersions: ["*"], resources: ["pods/*"]}`: {
			[]string{"UPDATE v1 pods ns/a", "UPDATE v1 pods/status ns/a"}, []string{"UPDATE v1 nodes/status a"},
		},
		`{operations: ["*"], apiGroups: [""], apiVersions: ["*"], resources: ["*"], scope: Namespaced}`: {
			[]string{"UPDATE v1 pods ns/a"}, []string{"UPDATE v1 nodes a", "UPDATE v1 namespaces a/a"},
		},
		`{operations: ["*"], apiGroups: [""], apiVersions: ["*"], resources: ["*"], scope: Cluster}`: {
			[]string{"UPDATE v1 nodes a", "UPDATE v1 namespaces a/a"}, []string{"UPDATE v1 pods ns/a"},
		},
	} {
		w := parse(t, "rules: ["+rule+"]")
		for _, text := range writes.matching {
			if !w.Matches(write(t, text)) || !w.MayMatch(write(t, text)) {
				t.Errorf("%s does not match %s", rule, text)
			}
		}
		for _, text := range writes.others {
			if w.Matches(write(t, text)) || w.MayMatch(write(t, text)) {
				t.Errorf("%s matches %s", rule, text)
			}
		}
	}
}

func TestSelectors(t *testing.T) {
	labelled := func(value string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetLabels(map[string]string{"app": value})
		return obj
	}
	const rules = `rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]` + "\n"
	for _, test := range []struct {
		selectors   string
		write       string
		object, old *unstructured.Unstructured
		want        bool
	}{
		{"namespaceSelector: {matchLabels: {team: blue}}", "CREATE v1 pods ns/a", nil, nil, true},
		{"namespaceSelector: {matchLabels: {team: red}}", "CREATE v1 pods ns/a", nil, nil, false},
		{"namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [ns]}]}", "CREATE v1 pods ns/a", nil, nil, false},
		{"namespaceSelector: {matchLabels: {team: red}}", "CREATE v1 nodes a", nil, nil, true}, // is never exempt
		{"namespaceSelector: {matchLabels: {team: red}}", "DELETE v1 namespaces a/a", nil, nil, false},
		{"namespaceSelector: {}", "CREATE v1 pods ns/a", nil, nil, true},
		{"objectSelector: {matchLabels: {app: db}}", "CREATE v1 pods ns/a", labelled("db"), nil, true},
		{"objectSelector: {matchLabels: {app: db}}", "UPDATE v1 pods ns/a", labelled("web"), labelled("db"), true},
		{"objectSelector: {matchLabels: {app: db}}", "UPDATE v1 pods ns/a", labelled("web"), labelled("web"), false},
		{"objectSelector: {matchLabels: {app: db}}", "DELETE v1 pods ns/a", nil, labelled("db"), true},
		{"objectSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}", "DELETE v1 pods ns/a", nil, labelled("db"), false},
	} {
		a := write(t, test.write)
		a.Object, a.OldObject = test.object, test.old
		if got := parse(t, rules+test.selectors).Matches(a); got != test.want {
			t.Errorf("%s of %s: got %v, want %v", test.selectors, test.write, got, test.want)
		}
	}
}

func TestReviewOfWrite(t *testing.T) {
	a := write(t, "UPDATE example.com/v1 clusters/status ns/a")
	a.Kind, a.User, a.DryRun = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Cluster"}, "me", true
	a.Object = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Cluster", "metadata": map[string]any{"name": "a"}}}
	text, err := Review(a, "1")
	if err != nil {
		t.Fatal(err)
	}
	const kind, resource = `{"group":"example.com","version":"v1","kind":"Cluster"}`, `{"group":"example.com","version":"v1","resource":"clusters"}`
	want := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","kind":` + kind + `,"resource":` + resource +
		`,"subResource":"status","requestKind":` + kind + `,"requestResource":` + resource + `,"requestSubResource":"status",` +
		`"name":"a","namespace":"ns","operation":"UPDATE","userInfo":{"username":"me"},` +
		`"object":{"apiVersion":"example.com/v1","kind":"Cluster","metadata":{"name":"a"}},"oldObject":null,"dryRun":true,` +
		`"options":{"apiVersion":"meta.k8s.io/v1","dryRun":["All"],"kind":"UpdateOptions"}}}`
	if got := string(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestResponses(t *testing.T) {
	const (
		review = `{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": `
		add    = `"patchType": "JSONPatch", "patch": "W3sib3AiOiAiYWRkIiwgInBhdGgiOiAiL2EiLCAidmFsdWUiOiAxfV0="` // [{"op": "add", "path": "/a", "value": 1}]
		failed = `failed calling webhook "w": `
	)
	for _, test := range []struct {
		code     int
		body     string
		mutating bool
		deletes  bool
		changed  bool
		err      string
		status   int32 // of the answer to the write; zero for a *CallError
	}{
		{200, review + `{"uid": "1", "allowed": true}}`, true, false, false, "", 0},
		{200, review + `{"uid": "1", "allowed": true, ` + add + `}}`, true, false, true, "", 0},
		{200, review + `{"uid": "1", "allowed": true, ` + add + `}}`, false, false, false,
			failed + "received invalid webhook response: validating webhook may not return response.patch", 0},
		{200, review + `{"uid": "1", "allowed": true, "patchType": "JSONPatch"}}`, false, false, false,
			failed + "received invalid webhook response: validating webhook may not return response.patchType", 0},
		{200, review + `{"uid": "1", "allowed": true, "patchType": "JSONPatch"}}`, true, false, false,
			failed + "received invalid webhook response: webhook returned response.patchType but not response.patch", 0},
		{200, `{"response": {"uid": "2"}}`, false, false, false, failed + `received invalid webhook response: expected response.uid="1", got "2"`, 0},
		{200, `{"response": {"uid": "1"}}`, false, false, false,
			failed + "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=", 0},
		{200, review + `{"uid": "1", "allowed": true, ` + add + `}}`, true, true, false,
			`Internal error occurred: admission webhook "w" attempted to modify the object, which is not supported for this operation`, 500},
		{200, review + `{"uid": "1", "allowed": true, "patchType": "Merge", "patch": "e30="}}`, true, false, false,
			failed + `received invalid webhook response: invalid webhook response.patchType of "Merge"`, 0},
		{200, review + `{"uid": "1", "allowed": true, "patchType": "JSONPatch", "patch": "e30="}}`, true, false, false,
			failed + `received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch`, 0},
		{200, review + `{"uid": "1", "status": {"code": 403, "reason": "Forbidden", "message": "no"}}}`, false, false, false, `admission webhook "w" denied the request: no`, 403},
		{200, review + `{"uid": "1", "status": {"code": 200, "reason": "Forbidden"}}}`, false, false, false, `admission webhook "w" denied the request: Forbidden`, 400},
		{200, `{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "response": {"uid": "1", "allowed": true}}`, false, false, false,
			failed + "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1beta1, Kind=AdmissionReview", 0},
		{404, "404 page not found", false, false, false, failed + "failed to call webhook: the server could not find the requested resource", 0},
	} {
		w := &Webhook{Name: "w", Mutating: test.mutating}
		a := &Attributes{Object: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}}
		if test.deletes {
			a.Object = nil
		}
		changed, err := w.Apply(a, "1", test.code, []byte(test.body))
		got, status := "", int32(0)
		if err != nil {
			got = err.Error()
			if answer, ok := err.(interface{ Status() metav1.Status }); ok {
				status = answer.Status().Code
			}
		}
		if got != test.err || status != test.status || changed != test.changed {
			t.Errorf("%d %s: got changed %v and %d %q, want %v and %d %q", test.code, test.body, changed, status, got, test.changed, test.status, test.err)
		}
		if content, _ := json.Marshal(a.Object); changed && !strings.Contains(string(content), `"a":1`) {
			t.Errorf("got object %s, want the patched one", content)
		}
	}
}
