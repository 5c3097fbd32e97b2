// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

// revisions is the history of a StatefulSet's templates.
type revisions struct {
	set             *appsv1.StatefulSet
	all             []*appsv1.ControllerRevision // the oldest first
	current, update *appsv1.ControllerRevision
}

// newRevisions returns the revisions of a StatefulSet, or the write that stores that of its
// template.
func newRevisions(s State, set *appsv1.StatefulSet, all []*appsv1.ControllerRevision) (*revisions, []Action) {
	slices.SortFunc(all, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	update := newRevision(set)
	if len(all) > 0 {
		update.Revision = all[len(all)-1].Revision + 1
	}
	i := slices.IndexFunc(all, func(r *appsv1.ControllerRevision) bool { return bytes.Equal(r.Data.Raw, update.Data.Raw) })
	switch {
	case set.DeletionTimestamp != nil && i < 0:
		i = len(all) - 1
	case i < 0 && find[*appsv1.ControllerRevision](s, set.Namespace, update.Name) != nil: // that of an earlier StatefulSet
	case i < 0:
		return nil, []Action{{Verb: "create", Object: update}}
	case i >= 0 && i < len(all)-1:
		return nil, []Action{{Verb: "update", Object: changed(all[i], func(next *appsv1.ControllerRevision) { next.Revision = update.Revision })}}
	}
	if i >= 0 {
		update = all[i]
	}
	r := &revisions{set: set, all: all, current: update, update: update}
	for _, revision := range all {
		if revision.Name == set.Status.CurrentRevision {
			r.current = revision
		}
	}
	return r, nil
}

// newRevision returns the revision of a StatefulSet's template.
func newRevision(set *appsv1.StatefulSet) *appsv1.ControllerRevision {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&set.Spec.Template)
	if err != nil {
		panic(err) // of an object that was decoded
	}
	fields["$patch"] = "replace"
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
	if err != nil {
		panic(err) // of an object that was decoded
	}
	hash := fnv.New32()
	_, _ = hash.Write(append(data, "0"...)) // never fails
	revision := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}, Revision: 1}
	suffix := utilrand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
	revision.Namespace, revision.Name, revision.Annotations = set.Namespace, set.Name+"-"+suffix, maps.Clone(set.Annotations)
	revision.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	revision.Labels = maps.Clone(set.Spec.Template.Labels)
	metav1.SetMetaDataLabel(&revision.ObjectMeta, "controller.kubernetes.io/hash", suffix)
	return revision
}

// templateOf returns the template that a revision has stored.
func templateOf(revision *appsv1.ControllerRevision) corev1.PodTemplateSpec {
	var stored struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if err := json.Unmarshal(revision.Data.Raw, &stored); err != nil {
		panic(err) // of an object that newRevision has made
	}
	return stored.Spec.Template
}

// trim deletes the oldest revisions that no Pod has and that are more than the StatefulSet keeps.
func (r *revisions) trim(pods []*corev1.Pod) []Action {
	old := where(r.all, func(revision *appsv1.ControllerRevision) bool {
		return revision != r.current && revision != r.update && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
			return pod.Labels[appsv1.StatefulSetRevisionLabel] == revision.Name
		})
	})
	if limit := r.set.Spec.RevisionHistoryLimit; limit != nil && len(old) > int(*limit) {
		return []Action{{Verb: "delete", Object: old[0]}}
	}
	return nil
}
