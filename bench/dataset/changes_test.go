// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

func TestChangeChangesItsFieldAlone(t *testing.T) {
	for change, apply := range map[Change]func(pod, changed *corev1.Pod) bool{
		NoChange: func(_, _ *corev1.Pod) bool { return true },
		ChangeStatus: func(pod, changed *corev1.Pod) bool {
			pod.Status.Phase = corev1.PodPending
			return changed.Status.Phase == corev1.PodPending
		},
		ChangeNode: func(pod, changed *corev1.Pod) bool {
			before := pod.Spec.NodeName
			pod.Spec.NodeName = changed.Spec.NodeName
			return changed.Spec.NodeName != before
		},
	} {
		pods := NewPods(3, 1).Take(9)
		e := encodePods(t, pods)
		for i, pod := range pods {
			var changed corev1.Pod
			if !e.Apply(change, i) {
				t.Fatalf("unknown change %q", change)
			}
			if err := changed.Unmarshal(e.Raw(i)); err != nil {
				t.Fatal(err)
			}
			if !apply(pod, &changed) || !apiequality.Semantic.DeepEqual(pod, &changed) {
				t.Errorf("change %q of Pod %d: %v", change, i, &changed)
			}
		}
		if e.Apply("other", 0) {
			t.Error("an unknown change is applied")
		}
	}
}
