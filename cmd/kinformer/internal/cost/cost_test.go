// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/fake"
)

func TestEachResourceIsPlannedAndReadOnce(t *testing.T) {
	h := start(t)
	h.createPods(1203)
	h.createNode()
	h.createConfigMaps(300)
	h.mustRun("pods", "nodes,po", "cm", "--yes") // pods twice
	h.ExpectRequests("list pods limit=1", "list nodes limit=1", "list configmaps limit=1",
		"list pods limit=500", "list pods limit=500 continued", "list pods limit=500 continued", "list nodes limit=500", "list configmaps limit=500")
	clustertest.ExpectGolden(t, "table.txt", h.text(&h.out))
	clustertest.ExpectGolden(t, "plan.txt", h.text(&h.err))
	for line := range strings.Lines(h.out.String() + h.err.String()) {
		if utf8.RuneCountInString(line) > lineWidth+1 {
			t.Errorf("a line of more than %d columns: %s", lineWidth, line)
		}
	}
	if len(h.measured) != 3 || len(h.measured[0].Items) != 1203 || len(h.measured[1].Items) != 1 {
		t.Errorf("measured %d collections", len(h.measured))
	}
	if agents := h.UserAgents(); !slices.Equal(agents, []string{"kinformer cost"}) {
		t.Errorf("user agents %q", agents)
	}
}

func TestReportInJSON(t *testing.T) {
	h := start(t)
	h.createPods(3)
	h.createConfigMaps(300)
	h.mustRun("pods", "nodes", "cm", "--yes", "--output=json")
	var r report
	if err := json.Unmarshal(h.out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	clustertest.ExpectGolden(t, "report.json", h.text(&h.out))
}

func TestNothingIsReadBeforeTheAnswer(t *testing.T) {
	h := start(t)
	h.createPods(3)
	for answer, read := range map[string]bool{"": false, "\n": false, "n\n": false, "yesterday\n": false, "y\n": true, "YES\n": true, "y": true} {
		h.in = strings.NewReader(answer)
		err := h.run(t.Context(), "pods")
		want := []string{"list pods limit=1"}
		if read {
			want = append(want, "list pods limit=500")
		}
		h.ExpectRequests(want...)
		if (err == nil) != read || !read && !errors.Is(err, command.ErrDeclined) || !strings.Contains(h.err.String(), "Read them? [y/N] ") {
			t.Errorf("answer %q: error %v", answer, err)
		}
	}
}

func TestInterruptEndsTheQuestion(t *testing.T) {
	h := start(t)
	h.createPods(3)
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	in := &blocked{closed: make(chan struct{}), read: make(chan struct{})}
	defer close(in.closed)
	h.in = in
	go func() {
		<-in.read
		cancel(interrupted)
	}()
	if err := h.run(ctx, "pods"); !errors.Is(err, interrupted) {
		t.Errorf("error %v, want %v", err, interrupted)
	}
	h.ExpectRequests("list pods limit=1")
}

func TestLargeResourcesNeedLarge(t *testing.T) {
	h := start(t)
	h.createPods(11)
	h.edit = func(s *session) {
		if s.limits.Objects != 50_000 || s.limits.Bytes != 1e9 {
			t.Errorf("limits %+v", s.limits)
		}
		s.limits.Objects = 10
	}
	h.expectError("more than 10 objects; --large reads them nevertheless", "pods", "--yes")
	h.ExpectRequests("list pods limit=1")
	h.edit = func(s *session) { s.limits.Bytes = 100 }
	h.expectError("probably more than 100 B; --large reads them nevertheless", "pods", "--yes")
	h.ExpectRequests("list pods limit=1")
	h.edit = func(s *session) {
		if s.limits.Objects != 0 || s.limits.Bytes != 0 || s.limits.Memory <= 0 {
			t.Errorf("limits %+v", s.limits)
		}
	}
	h.mustRun("pods", "--yes", "--large")
}

func TestReadingStopsBeforeTheMemoryIsUsed(t *testing.T) {
	h := start(t)
	h.createPods(1100)
	h.createNode()
	h.edit = func(s *session) {
		s.limits.Memory = 1000
		s.limits.MemoryFor = func(objects, _ int64, _ string) int64 { return objects }
	}
	h.expectError("1 of 2 resources not measured", "pods", "nodes", "--yes", "--large")
	h.ExpectRequests("list pods limit=1", "list nodes limit=1", "list pods limit=500", "list nodes limit=500")
	if !strings.Contains(h.err.String(), "error: read pods, after 500 objects: too little memory") {
		t.Errorf("stderr:\n%s", h.err.String())
	}
}

// TestReadingStopsAtTheLimitOfObjects adds objects after the plan.
func TestReadingStopsAtTheLimitOfObjects(t *testing.T) {
	h := start(t)
	h.createPods(11)
	h.createNode()
	h.edit = func(s *session) {
		s.limits.Objects = 15
		s.streams.In, s.options.yes = answering(func() { h.createMorePods(11, 5) }), false
	}
	h.expectError("2 of 2 resources not measured", "pods", "nodes")
	h.ExpectRequests("list pods limit=1", "list nodes limit=1", "list pods limit=500")
}

func TestAllNamesWhatItSkips(t *testing.T) {
	h := start(t)
	h.createPods(2)
	h.createNode()
	h.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"}, Data: map[string][]byte{"password": []byte("hunter2")}})
	h.Create(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "e"}})
	h.InjectFault(-1, listOf("nodes"), fake.Fault{Err: apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("no"))})
	h.InjectFault(-1, listOf("services"), fake.Fault{Err: apierrors.NewInternalError(errors.New("broken"))})
	h.mustRun("--all", "--yes")
	for _, request := range h.Requests() {
		if strings.Contains(request, "secrets") || strings.Contains(request, "events") {
			t.Errorf("request %s", request)
		}
	}
	clustertest.ExpectGolden(t, "all.txt", h.text(&h.err))
	h.mustRun("--all", "--yes", "--secrets", "--namespace=a", "-ojson")
	clustertest.ExpectGolden(t, "all.json", h.text(&h.out))
}

func listOf(resource string) func(fake.APIRequest) bool {
	return func(r fake.APIRequest) bool { return r.Verb == "list" && r.Resource == resource }
}

func TestWithoutAPIServicesOnlyBuiltInGroupsAreRead(t *testing.T) {
	h := start(t)
	h.createPods(1)
	h.createWidget()
	apiServices := func(r fake.APIRequest) bool { return strings.HasSuffix(r.HTTP.URL.Path, "/apiservices") }
	h.InjectFault(1, apiServices, fake.Fault{Err: apierrors.NewForbidden(corev1.Resource("apiservices"), "", errors.New("no"))})
	h.mustRun("--all", "--yes")
	if text := strings.Join(strings.Fields(h.err.String()), " "); !strings.Contains(text, "skipped: widgets.example.com (may be an aggregated API, as APIServices may not be listed; it can be measured by name)") {
		t.Errorf("stderr:\n%s", h.err.String())
	}
	var kinds []string
	for _, measured := range h.measured {
		kinds = append(kinds, measured.Kind)
	}
	if want := []string{"APIService", "CustomResourceDefinition", "Pod"}; !slices.Equal(kinds, want) {
		t.Errorf("measured %q, want %q", kinds, want)
	}
}

func (h *harness) createWidget() {
	h.Create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "a", "name": "w"},
	}})
}

func TestNamedResourceThatCannotBeReadIsAnError(t *testing.T) {
	h := start(t)
	h.createPods(1)
	h.InjectFault(-1, listOf("nodes"), fake.Fault{Err: apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("no"))})
	for want, name := range map[string]string{
		`unknown resource "gadgets"; kubectl api-resources lists those of the server`: "gadgets",
		"list nodes: nodes is forbidden: no":                                          "nodes",
		"secrets are read only with --secrets":                                        "secrets",
		"the server has no list and watch of it":                                      "bindings",
		"nothing to measure: no resource has objects":                                 "services",
	} {
		h.expectError(want, name, "--yes")
	}
}

func TestFailureOfOneResourceDoesNotStopOthers(t *testing.T) {
	h := start(t)
	h.createWidget() // which cannot be measured
	h.createPods(1)
	h.expectError("1 of 2 resources not measured", "widgets", "pods", "--yes", "-o=json")
	clustertest.ExpectGolden(t, "failed.json", h.text(&h.out))
	if !strings.Contains(h.err.String(), "error: measure widgets: no such luck") {
		t.Errorf("stderr:\n%s", h.err.String())
	}
}

func TestSecretsReachTheMeasurementWithoutTheirValues(t *testing.T) {
	h := start(t)
	h.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"}, Data: map[string][]byte{"password": []byte("hunter2")}})
	h.mustRun("secrets", "--secrets", "--yes")
	if len(h.measured) != 1 || len(h.measured[0].Items) != 1 {
		t.Fatalf("measured %d collections", len(h.measured))
	}
	for _, text := range []string{string(h.measured[0].Items[0]), h.out.String(), h.err.String()} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the value of a Secret in %q", text)
		}
	}
}

func TestOutputDoesNotNameObjects(t *testing.T) {
	h := start(t)
	h.createPods(600)
	h.mustRun("pods", "--yes")
	if all := h.out.String() + h.err.String(); strings.Contains(all, "pod-") {
		t.Errorf("output:\n%s", all)
	}
}

func TestWaitOfTheServerIsShown(t *testing.T) {
	h := start(t)
	h.createPods(1)
	h.edit = func(s *session) { s.onWait(7*time.Second, 429) }
	h.mustRun("pods", "--yes")
	if !strings.Contains(h.err.String(), "wait: the server asks to wait 7s (HTTP status 429)\n") {
		t.Errorf("stderr:\n%s", h.err.String())
	}
}
