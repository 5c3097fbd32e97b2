// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/examples/internal/terminal"
)

// testNode returns a worker node of an age, with a Ready condition.
func testNode(age time.Duration, ready corev1.ConditionStatus, cordoned bool) *corev1.Node {
	node := newNode(3)
	node.CreationTimestamp = metav1.NewTime(time.Now().Add(-age))
	node.Spec.Unschedulable = cordoned
	setReady(node, ready)
	return node
}

func TestCellsOfNode(t *testing.T) {
	bare := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "bare", CreationTimestamp: metav1.Now()}}
	roles := testNode(75*time.Hour, corev1.ConditionUnknown, true)
	roles.Labels[rolePrefix+"control-plane"] = ""
	for want, tc := range map[string]struct {
		node  *corev1.Node
		style terminal.Style
	}{
		"bare NotReady <none> 0s ":                                                 {bare, terminal.Red},
		"worker-003 Ready worker 90m v1.36.2":                                      {testNode(90*time.Minute, corev1.ConditionTrue, false), ""},
		"worker-003 Ready,SchedulingDisabled worker 90m v1.36.2":                   {testNode(90*time.Minute, corev1.ConditionTrue, true), terminal.Yellow},
		"worker-003 NotReady,SchedulingDisabled control-plane,worker 3d3h v1.36.2": {roles, terminal.Red},
	} {
		if got := strings.Join(cells(tc.node, time.Now()), " "); got != want || style(tc.node) != tc.style {
			t.Errorf("got %q in style %q, want %q in %q", got, style(tc.node), want, tc.style)
		}
	}
}

func TestChangesNameColumns(t *testing.T) {
	before := testNode(time.Hour, corev1.ConditionTrue, false)
	after := testNode(time.Hour, corev1.ConditionTrue, true)
	after.Status.NodeInfo.KubeletVersion = "v1.36.3"
	if got, want := changesText(before, after), "STATUS Ready -> Ready,SchedulingDisabled; VERSION v1.36.2 -> v1.36.3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := changesText(before, before), "no change in the columns shown"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
