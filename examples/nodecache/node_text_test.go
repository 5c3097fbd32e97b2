// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/terminal"
)

func labelled(pairs ...string) func(*corev1.Node) {
	return func(node *corev1.Node) {
		for i := 0; i < len(pairs); i += 2 {
			node.Labels[pairs[i]] = pairs[i+1]
		}
	}
}

func cordoned(node *corev1.Node) { setUnschedulable(node, true) }

func withoutVersion(node *corev1.Node) { node.Status.NodeInfo.KubeletVersion = "" }

func TestNodeColumns(t *testing.T) {
	bare := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}
	roles := testNode("a", 0, "", labelled(controlPlaneLabel, "", rolePrefix+"etcd", "", "kubernetes.io/role", "etcd", rolePrefix, "x"))
	for name, tc := range map[string]struct{ got, want string }{
		"ready":            {statusText(testNode("a", 0, corev1.ConditionTrue)), "Ready"},
		"not ready":        {statusText(testNode("a", 0, corev1.ConditionFalse)), "NotReady"},
		"unknown":          {statusText(testNode("a", 0, corev1.ConditionUnknown)), "NotReady"},
		"no condition":     {statusText(bare), "Unknown"},
		"cordoned":         {statusText(testNode("a", 0, corev1.ConditionTrue, cordoned)), "Ready,SchedulingDisabled"},
		"roles":            {rolesText(roles), "control-plane,etcd"},
		"no roles":         {rolesText(bare), "<none>"},
		"labels":           {labelsText(testNode("a", 0, "", labelled("a", "1", "my.io/b", "2", "x.k8s.io/c", "3", "notk8s.io/d", "4"))), "a=1,my.io/b=2,notk8s.io/d=4,pool=web"},
		"no labels":        {labelsText(bare), "<none>"},
		"address":          {addressText(testNode("a", 0, "")), "10.0.0.7"},
		"no address":       {addressText(bare), "<none>"},
		"version":          {versionText(testNode("a", 0, "")), "v1.36.1"},
		"no version":       {versionText(bare), "<none>"},
		"version reported": {changesText(testNode("a", 0, "", withoutVersion), testNode("a", 0, "")), "version <none> -> v1.36.1"},
		"zone":             {zoneText(testNode("a", 0, "")), "eu-1a"},
		"no zone":          {zoneText(bare), "<none>"},
		"no change":        {changesText(bare, bare), "no change in the columns shown"},
		"status and labels": {
			changesText(testNode("a", 0, corev1.ConditionTrue), testNode("a", 0, corev1.ConditionFalse, labelled("pool", "db"))),
			"Ready -> NotReady; labels pool=web -> pool=db",
		},
		"roles and a first label": {
			changesText(bare, roles),
			"roles <none> -> control-plane,etcd; version <none> -> v1.36.1; address <none> -> 10.0.0.7; zone <none> -> eu-1a; labels <none> -> pool=web",
		},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", name, tc.got, tc.want)
		}
	}
}

func TestTableOfNodes(t *testing.T) {
	store := cache.NewStore[*corev1.Node](nil, nil)
	if err := store.Replace([]*corev1.Node{
		testNode("b", 26*time.Hour, corev1.ConditionTrue, cordoned),
		testNode("a", 0, corev1.ConditionTrue),
		testNode("c", 0, corev1.ConditionUnknown, cordoned),
		testNode("d", 0, corev1.ConditionTrue),
	}, "4711"); err != nil {
		t.Fatal(err)
	}
	s := stateOf("here", store.Snapshot(), cache.Status{}, noon())
	want := []terminal.Row{
		{Key: "a", Cells: []string{"a", "Ready", "<none>", "0s", "v1.36.1", "10.0.0.7", "eu-1a", "pool=web"}},
		{
			Key: "b", Cells: []string{"b", "Ready,SchedulingDisabled", "<none>", "26h", "v1.36.1", "10.0.0.7", "eu-1a", "pool=web"},
			Style: terminal.Yellow,
		},
		{
			Key: "c", Cells: []string{"c", "NotReady,SchedulingDisabled", "<none>", "0s", "v1.36.1", "10.0.0.7", "eu-1a", "pool=web"},
			Style: terminal.Red,
		},
	}
	if diff := cmp.Diff(want, s.Rows(3)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if want := "4 nodes: 2 Ready, 1 NotReady,SchedulingDisabled, 1 Ready,SchedulingDisabled"; s.Summary != want || s.Len != 4 || s.ResourceVersion != "4711" {
		t.Errorf("got %q of %d at %s, want %q", s.Summary, s.Len, s.ResourceVersion, want)
	}
}
