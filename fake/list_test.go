// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/fake"
)

// threePods returns a collection of the Pods a, b and c, at the versions 2, 3 and 4.
func threePods() *fake.ListerWatcher[*corev1.Pod] {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	lw.Create(pod("a", label("app", "x"), onNode("n1")))
	lw.Create(pod("b", label("app", "y"), onNode("n2")))
	lw.Create(pod("c", label("app", "x"), onNode("n2")))
	return lw
}

func TestListOptions(t *testing.T) {
	lw := threePods()
	lw.Update(pod("b", label("app", "z"), onNode("n1"))) // version 5
	exact := metav1.ResourceVersionMatchExact
	notOlder := metav1.ResourceVersionMatchNotOlderThan
	for name, tc := range map[string]struct {
		opts metav1.ListOptions
		want string
	}{
		"most recent":             {metav1.ListOptions{}, "a@2 b@5 c@4"},
		"any":                     {metav1.ListOptions{ResourceVersion: "0"}, "a@2 b@5 c@4"},
		"any ignores the limit":   {metav1.ListOptions{ResourceVersion: "0", Limit: 1}, "a@2 b@5 c@4"},
		"not older than":          {metav1.ListOptions{ResourceVersion: "3"}, "a@2 b@5 c@4"},
		"not older than, match":   {metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: notOlder}, "a@2 b@5 c@4"},
		"exact":                   {metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: exact}, "a@2 b@3"},
		"exact, before the first": {metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: exact}, ""},
		"limit implies exact":     {metav1.ListOptions{ResourceVersion: "4", Limit: 5}, "a@2 b@3 c@4"},
		"label":                   {metav1.ListOptions{LabelSelector: "app=x"}, "a@2 c@4"},
		"label set":               {metav1.ListOptions{LabelSelector: "app in (x,z)"}, "a@2 b@5 c@4"},
		"label and exact":         {metav1.ListOptions{LabelSelector: "app=y", ResourceVersion: "3", ResourceVersionMatch: exact}, "b@3"},
		"field node":              {metav1.ListOptions{FieldSelector: "spec.nodeName=n1"}, "a@2 b@5"},
		"field name":              {metav1.ListOptions{FieldSelector: "metadata.name=c"}, "c@4"},
		"field namespace":         {metav1.ListOptions{FieldSelector: "metadata.namespace=other"}, ""},
		"field unequal":           {metav1.ListOptions{FieldSelector: "spec.nodeName!=n1"}, "c@4"},
		"field phase and label":   {metav1.ListOptions{FieldSelector: "status.phase=", LabelSelector: "app=z"}, "b@5"},
	} {
		t.Run(name, func(t *testing.T) {
			list, items := mustList(t, lw, tc.opts)
			if got := strings.Join(items, " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			wantVersion := "5"
			if tc.opts.ResourceVersionMatch == exact || (tc.opts.Limit > 0 && tc.opts.ResourceVersion != "0") {
				wantVersion = tc.opts.ResourceVersion
			}
			if got := versionOf(t, list); got != wantVersion {
				t.Errorf("list is at version %s, want %s", got, wantVersion)
			}
		})
	}
}

func TestInvalidListOptionsAreErrors(t *testing.T) {
	lw := threePods()
	for name, tc := range map[string]struct {
		opts metav1.ListOptions
		code int32
		text string
	}{
		"future":          {metav1.ListOptions{ResourceVersion: "9"}, 504, "Too large resource version: 9, current: 4"},
		"no number":       {metav1.ListOptions{ResourceVersion: "x"}, 400, "resourceVersion"},
		"match alone":     {metav1.ListOptions{ResourceVersionMatch: "Exact"}, 422, "forbidden unless resourceVersion is provided"},
		"match unknown":   {metav1.ListOptions{ResourceVersionMatch: "Nearly", ResourceVersion: "1"}, 422, "Unsupported value"},
		"initial events":  {metav1.ListOptions{SendInitialEvents: new(bool)}, 422, "sendInitialEvents is forbidden for list"},
		"label":           {metav1.ListOptions{LabelSelector: "a b"}, 400, "unable to parse"},
		"field":           {metav1.ListOptions{FieldSelector: "a"}, 400, "invalid selector"},
		"unknown field":   {metav1.ListOptions{FieldSelector: "spec.x=1"}, 400, "field label not supported: spec.x"},
		"token":           {metav1.ListOptions{Continue: "x"}, 400, "continue key is not valid"},
		"token's format":  {metav1.ListOptions{Continue: "e30"}, 400, "continue key is not valid"},
		"token + version": {metav1.ListOptions{Continue: "e30", ResourceVersion: "2"}, 400, "not allowed when using continue"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := lw.List(context.Background(), tc.opts)
			status, ok := err.(apierrors.APIStatus)
			if !ok || status.Status().Code != tc.code || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got error %v, want %d with %q", err, tc.code, tc.text)
			}
		})
	}
	_, err := lw.List(context.Background(), metav1.ListOptions{ResourceVersion: "9"})
	if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("got error %v, want the cause ResourceVersionTooLarge", err)
	}
}

func TestPagesHaveTheVersionOfTheFirstPage(t *testing.T) {
	lw := threePods()
	first, items := mustList(t, lw, metav1.ListOptions{Limit: 1})
	expectItems(t, items, "a@2")
	page, _ := meta.ListAccessor(first)
	if remaining := page.GetRemainingItemCount(); remaining == nil || *remaining != 2 {
		t.Errorf("got remainingItemCount %v, want 2", remaining)
	}
	lw.Delete("ns/b")
	lw.Create(pod("bb"))
	lw.Update(pod("c"))

	second, items := mustList(t, lw, metav1.ListOptions{Limit: 1, Continue: page.GetContinue()})
	expectItems(t, items, "b@3")
	if got := versionOf(t, second); got != "4" {
		t.Errorf("second page is at version %s, want 4", got)
	}
	next, _ := meta.ListAccessor(second)
	third, items := mustList(t, lw, metav1.ListOptions{Limit: 1, Continue: next.GetContinue()})
	expectItems(t, items, "c@4")
	if last, _ := meta.ListAccessor(third); last.GetContinue() != "" || last.GetRemainingItemCount() != nil {
		t.Errorf("last page: got %+v, want no continue token and no remainingItemCount", last)
	}

	lw.Compact()
	_, err := lw.List(context.Background(), metav1.ListOptions{Limit: 1, Continue: page.GetContinue()})
	if !apierrors.IsResourceExpired(err) {
		t.Fatalf("continue token of a compacted version: got %v, want Expired", err)
	}
	inconsistent := err.(apierrors.APIStatus).Status().Continue // continues at the current version
	_, items = mustList(t, lw, metav1.ListOptions{Continue: inconsistent})
	expectItems(t, items, "bb@6", "c@7")
}

func TestListAtAVersionBeforeTheHistoryGets410(t *testing.T) {
	lw := threePods()
	lw.LimitHistory(2)
	lw.Update(pod("a")) // 5; the history now begins at 3
	exact := metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	exact.ResourceVersion = "3"
	_, items := mustList(t, lw, exact)
	expectItems(t, items, "a@2", "b@3")
	exact.ResourceVersion = "2"
	if _, err := lw.List(context.Background(), exact); !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v, want Expired", err)
	}
}

func TestListHasTheListType(t *testing.T) {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("example.com/v1")
	u.SetKind("Widget")
	widgets := fake.NewListerWatcher(u)
	w := u.DeepCopy()
	w.SetName("w")
	must(t, unstructured.SetNestedField(w.Object, int64(3), "spec", "size"))
	widgets.Create(w)
	list, items := mustList(t, widgets, metav1.ListOptions{FieldSelector: "spec.size=3"})
	expectItems(t, items, "w@2")
	if ul := list.(*unstructured.UnstructuredList); ul.GetKind() != "WidgetList" || ul.GetAPIVersion() != "example.com/v1" || ul.Items[0].GetKind() != "Widget" {
		t.Errorf("got %s %s of %s", ul.GetAPIVersion(), ul.GetKind(), ul.Items[0].GetKind())
	}

	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
	nodes := fake.NewListerWatcher(partial)
	n := partial.DeepCopy()
	n.Name = "n"
	nodes.Create(n)
	list, items = mustList(t, nodes, metav1.ListOptions{})
	expectItems(t, items, "n@2")
	if _, ok := list.(*metav1.PartialObjectMetadataList); !ok {
		t.Errorf("got a %T", list)
	}

	list, _ = mustList(t, threePods(), metav1.ListOptions{})
	if _, ok := list.(*corev1.PodList); !ok {
		t.Errorf("got a %T", list)
	}
}

func TestObjectsAreCopied(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	first := mustWatch(t, lw, metav1.ListOptions{})
	second := mustWatch(t, lw, metav1.ListOptions{})
	in := pod("a", label("app", "x"))
	out := lw.Create(in)
	modify := func(p *corev1.Pod) { p.Labels["app"] = "modified"; p.Name = "modified" }
	modify(in)
	modify(out)
	modify((<-first.ResultChan()).Object.(*corev1.Pod))
	list, _ := mustList(t, lw, metav1.ListOptions{})
	modify(&list.(*corev1.PodList).Items[0])
	got, _ := lw.Get("ns/a")
	modify(got)
	again, _ := lw.Get("ns/a")
	for name, p := range map[string]*corev1.Pod{
		"Get": again, "second watch": (<-second.ResultChan()).Object.(*corev1.Pod), "Delete": lw.Delete("ns/a"),
	} {
		if p.Labels["app"] != "x" || p.Name != "a" {
			t.Errorf("%s returned an object modified by another caller: %v", name, p.ObjectMeta)
		}
	}
}
