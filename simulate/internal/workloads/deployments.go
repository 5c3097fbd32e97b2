// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
)

// The annotations of Deployments and of their ReplicaSets.
const (
	revisionAnnotation        = "deployment.kubernetes.io/revision"
	revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	desiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas"
)

// ControlDeployments implements simulate.ControlDeployments.
func ControlDeployments(s State) []Action { return forEach(s, controlDeployment) }

func controlDeployment(s State, d *appsv1.Deployment) []Action {
	if !isValid(d.Spec.Replicas, d.Spec.Selector, d.Spec.Template) {
		return nil
	}
	sets, actions := claim(All[*appsv1.ReplicaSet](s), d, appsv1.SchemeGroupVersion.WithKind("Deployment"), d.Spec.Selector, "")
	if len(actions) > 0 {
		return actions
	}
	r := newRollout(s, d, sets)
	if d.DeletionTimestamp == nil {
		actions = r.next()
	}
	next := r.withStatus()
	if !equality.Semantic.DeepEqual(next.Status, d.Status) || next.Annotations[revisionAnnotation] != d.Annotations[revisionAnnotation] {
		actions = append(actions, Action{Verb: "update status", Object: next})
	}
	return actions
}

// rollout is a Deployment and its ReplicaSets.
type rollout struct {
	*appsv1.Deployment
	state              State
	sets               []*appsv1.ReplicaSet // all, the oldest first
	current            *appsv1.ReplicaSet   // the one with the Deployment's template, or nil
	old                []*appsv1.ReplicaSet // the others
	replicas           int32
	surge, unavailable int32 // the number of Pods that may be too many, and too few
}

func newRollout(s State, d *appsv1.Deployment, sets []*appsv1.ReplicaSet) *rollout {
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	r := &rollout{Deployment: d, state: s, sets: sets, replicas: *d.Spec.Replicas}
	for _, set := range sets {
		if r.current == nil && sameTemplate(d, set) {
			r.current = set
		} else {
			r.old = append(r.old, set)
		}
	}
	if rolling := d.Spec.Strategy.RollingUpdate; d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType && rolling != nil {
		r.surge = scaled(rolling.MaxSurge, r.replicas, true)
		r.unavailable = min(scaled(rolling.MaxUnavailable, r.replicas, false), r.replicas)
		if r.surge == 0 && r.unavailable == 0 {
			r.unavailable = min(1, r.replicas)
		}
	}
	return r
}

// sameTemplate reports whether a ReplicaSet has the Deployment's template.
func sameTemplate(d *appsv1.Deployment, set *appsv1.ReplicaSet) bool {
	got, want := set.Spec.Template.DeepCopy(), d.Spec.Template.DeepCopy()
	delete(got.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(want.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(got, want)
}

// scaled returns a number of Pods that may be given as a percentage of all.
func scaled(value *intstr.IntOrString, replicas int32, roundUp bool) int32 {
	n, _ := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(value, intstr.FromInt32(0)), int(replicas), roundUp) // 0 if it is invalid
	return int32(n)
}

// next returns the next write to a ReplicaSet.
func (r *rollout) next() []Action {
	if r.current != nil {
		if annotated := r.annotated(r.current); !equality.Semantic.DeepEqual(annotated, r.current) {
			return []Action{{Verb: "update", Object: annotated}}
		}
	}
	switch {
	case r.Spec.Paused:
		if actions := r.scale(); len(actions) > 0 {
			return actions
		}
		return r.trimHistory()
	case r.isScaled():
		return r.scale()
	case r.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return r.recreate()
	}
	return r.roll()
}

// annotated returns a copy of the current ReplicaSet with the annotations of the Deployment, and
// with the highest revision.
func (r *rollout) annotated(set *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	highest := 0
	for _, old := range r.old {
		highest = max(highest, revisionOf(old))
	}
	return changed(set, func(next *appsv1.ReplicaSet) {
		next.Spec.MinReadySeconds = r.Spec.MinReadySeconds
		annotate(next, r.inherited())
		before := next.Annotations[revisionAnnotation]
		if revisionOf(next) > highest {
			return
		}
		annotate(next, map[string]string{revisionAnnotation: strconv.Itoa(highest + 1)})
		if history := next.Annotations[revisionHistoryAnnotation]; history != "" {
			before = history + "," + before
		}
		if before != "" {
			annotate(next, map[string]string{revisionHistoryAnnotation: before})
		}
	})
}

// inherited returns the annotations that ReplicaSets have of the Deployment.
func (r *rollout) inherited() map[string]string {
	own := []string{
		revisionAnnotation, revisionHistoryAnnotation, desiredReplicasAnnotation, maxReplicasAnnotation,
		corev1.LastAppliedConfigAnnotation, appsv1.DeprecatedRollbackTo,
	}
	inherited := maps.Clone(r.Annotations)
	maps.DeleteFunc(inherited, func(name, _ string) bool { return slices.Contains(own, name) })
	return inherited
}

// annotate adds annotations to a ReplicaSet.
func annotate(set *appsv1.ReplicaSet, annotations map[string]string) {
	if set.Annotations == nil && len(annotations) > 0 {
		set.Annotations = map[string]string{}
	}
	maps.Copy(set.Annotations, annotations)
}

// revisionOf returns the revision of a ReplicaSet, or 0.
func revisionOf(set *appsv1.ReplicaSet) int {
	revision, _ := strconv.Atoi(set.Annotations[revisionAnnotation])
	return revision
}

// create returns the write that creates the current ReplicaSet, unless its name is taken.
func (r *rollout) create(replicas int32) []Action {
	if r.nameIsTaken() {
		return nil
	}
	hash := r.templateHash()
	template, selector := r.Spec.Template.DeepCopy(), r.Spec.Selector.DeepCopy()
	metav1.SetMetaDataLabel(&template.ObjectMeta, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	metav1.AddLabelToSelector(selector, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	set := r.annotated(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.Namespace, Name: r.Name + "-" + hash, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r.Deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, MinReadySeconds: r.Spec.MinReadySeconds, Selector: selector, Template: *template},
	})
	annotate(set, r.sizes())
	return []Action{{Verb: "create", Object: set}}
}

// nameIsTaken reports whether a ReplicaSet that is not the Deployment's has the name of the current
// one, which does not exist. The status then counts a collision, so that the next name is another
// one.
func (r *rollout) nameIsTaken() bool {
	return r.current == nil && find[*appsv1.ReplicaSet](r.state, r.Namespace, r.Name+"-"+r.templateHash()) != nil
}

// templateHash returns the hash of the template that names the current ReplicaSet.
func (r *rollout) templateHash() string {
	hash := fnv.New32a()
	_, _ = fmt.Fprint(hash, dump.ForHash(r.Spec.Template)) // never fails
	if collisions := r.Status.CollisionCount; collisions != nil {
		_, _ = hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(*collisions))) // never fails
	}
	return utilrand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// sizes returns the annotations of a ReplicaSet that tell a scaling of the Deployment from a
// rollout.
func (r *rollout) sizes() map[string]string {
	return map[string]string{
		desiredReplicasAnnotation: strconv.Itoa(int(r.replicas)),
		maxReplicasAnnotation:     strconv.Itoa(int(r.replicas + r.surge)),
	}
}

func (r *rollout) resize(set *appsv1.ReplicaSet, replicas int32) []Action {
	return []Action{{Verb: "update", Object: changed(set, func(next *appsv1.ReplicaSet) {
		next.Spec.Replicas = &replicas
		annotate(next, r.sizes())
	})}}
}

// roll returns the next write of a rolling update.
func (r *rollout) roll() []Action {
	if r.current == nil {
		return r.create(max(0, min(r.replicas+r.surge-sum(r.sets, wanted), r.replicas)))
	}
	size := wanted(r.current)
	if size > r.replicas {
		return r.resize(r.current, r.replicas)
	}
	if more := min(r.replicas+r.surge-sum(r.sets, wanted), r.replicas-size); more > 0 {
		return r.resize(r.current, size+more)
	}
	if actions := r.shrink(); len(actions) > 0 {
		return actions
	}
	return r.trimHistory()
}

// shrink scales the oldest ReplicaSet down, as far as enough Pods are available: first those with
// Pods that are not.
func (r *rollout) shrink() []Action {
	required := r.replicas - r.unavailable
	active := where(r.old, func(set *appsv1.ReplicaSet) bool { return wanted(set) > 0 })
	most := sum(r.sets, wanted) - required - (wanted(r.current) - available(r.current))
	if most <= 0 || slices.ContainsFunc(active, func(set *appsv1.ReplicaSet) bool { return available(set) > wanted(set) }) {
		return nil // or a status is behind
	}
	for _, set := range active {
		if broken := wanted(set) - available(set); broken > 0 {
			return r.resize(set, wanted(set)-min(most, broken))
		}
	}
	if surplus := sum(r.sets, available) - required; surplus > 0 && len(active) > 0 {
		return r.resize(active[0], wanted(active[0])-min(surplus, wanted(active[0])))
	}
	return nil
}

// recreate returns the next write of an update that stops all old Pods first.
func (r *rollout) recreate() []Action {
	for _, set := range r.old {
		if wanted(set) > 0 {
			return r.resize(set, 0)
		}
	}
	switch {
	case slices.ContainsFunc(r.old, r.hasPods):
		return nil
	case r.current == nil:
		return r.create(r.replicas)
	case wanted(r.current) != r.replicas:
		return r.resize(r.current, r.replicas)
	}
	return r.trimHistory()
}

// hasPods reports whether a ReplicaSet has Pods that have not ended.
func (r *rollout) hasPods(set *appsv1.ReplicaSet) bool {
	return set.Status.Replicas > 0 || slices.ContainsFunc(All[*corev1.Pod](r.state), func(pod *corev1.Pod) bool {
		return metav1.IsControlledBy(pod, set) && !hasEnded(pod)
	})
}

// isScaled reports whether the number of replicas has changed since the ReplicaSets were scaled.
func (r *rollout) isScaled() bool {
	return slices.ContainsFunc(r.sets, func(set *appsv1.ReplicaSet) bool {
		desired, err := strconv.Atoi(set.Annotations[desiredReplicasAnnotation])
		return wanted(set) > 0 && err == nil && int32(desired) != r.replicas
	})
}

// scale returns the next write after the number of replicas has changed: during a rollout, all
// ReplicaSets keep their proportions.
func (r *rollout) scale() []Action {
	active := where(r.sets, func(set *appsv1.ReplicaSet) bool { return wanted(set) > 0 })
	switch {
	case len(active) == 0 && r.current != nil:
		active = []*appsv1.ReplicaSet{r.current}
	case len(active) == 0 && len(r.old) > 0:
		active = r.old[len(r.old)-1:]
	}
	switch {
	case len(active) == 0, len(active) == 1 && wanted(active[0]) == r.replicas:
		return nil
	case len(active) == 1:
		return r.resize(active[0], r.replicas)
	case r.current != nil && r.hasSizes(r.current) && wanted(r.current) == r.replicas && available(r.current) == r.replicas:
		return r.recreate() // the others are not needed
	case r.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return nil
	}
	return r.scaleInProportion(active)
}

// hasSizes reports whether a ReplicaSet was written since the number of replicas has changed.
func (r *rollout) hasSizes(set *appsv1.ReplicaSet) bool {
	sizes := r.sizes()
	return set.Annotations[desiredReplicasAnnotation] == sizes[desiredReplicasAnnotation] &&
		set.Annotations[maxReplicasAnnotation] == sizes[maxReplicasAnnotation]
}

// scaleInProportion scales the first ReplicaSet that has another size than its proportion. The
// largest is the first, and gets what the others leave. Of two that have one size, the newer one is
// scaled up first, or the older one down.
func (r *rollout) scaleInProportion(active []*appsv1.ReplicaSet) []Action {
	more := -sum(r.sets, wanted)
	if r.replicas > 0 {
		more += r.replicas + r.surge
	}
	active = slices.Clone(active)
	if more > 0 {
		slices.Reverse(active) // the newest first
	}
	slices.SortStableFunc(active, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(wanted(b), wanted(a)) })
	var sizes []int32
	rest := more
	for _, set := range active {
		share := int32(0)
		switch {
		case rest > 0:
			share = min(r.share(set), rest)
		case rest < 0:
			share = max(r.share(set), rest)
		}
		rest -= share
		sizes = append(sizes, wanted(set)+share)
	}
	sizes[0] = max(0, sizes[0]+rest)
	for i, set := range active {
		if sizes[i] != wanted(set) || !r.hasSizes(set) {
			return r.resize(set, sizes[i])
		}
	}
	return nil
}

// share returns the number of Pods by which a ReplicaSet grows if it keeps its proportion of the
// Deployment.
func (r *rollout) share(set *appsv1.ReplicaSet) int32 {
	size := wanted(set)
	before, err := strconv.Atoi(set.Annotations[maxReplicasAnnotation])
	if err != nil || before == 0 {
		before = int(r.Status.Replicas)
	}
	switch {
	case r.replicas == 0:
		return -size
	case before == 0:
		return 0
	}
	return int32(math.Round(float64(size)*float64(r.replicas+r.surge)/float64(before))) - size
}

// trimHistory deletes old ReplicaSets without Pods that are more than the Deployment keeps, once a
// rollout is complete.
func (r *rollout) trimHistory() []Action {
	limit := r.Spec.RevisionHistoryLimit
	if limit == nil || !r.Spec.Paused && !r.isComplete(&r.Status) {
		return nil
	}
	kept := where(r.old, func(set *appsv1.ReplicaSet) bool { return set.DeletionTimestamp == nil })
	slices.SortStableFunc(kept, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
	for _, set := range kept[:max(0, len(kept)-int(*limit))] {
		if wanted(set) == 0 && set.Status.Replicas == 0 && set.Generation <= set.Status.ObservedGeneration {
			return []Action{{Verb: "delete", Object: set}}
		}
	}
	return nil
}

// wanted returns the number of Pods that a ReplicaSet is to have.
func wanted(set *appsv1.ReplicaSet) int32 { return *set.Spec.Replicas }

// available returns the number of available Pods of a ReplicaSet.
func available(set *appsv1.ReplicaSet) int32 { return set.Status.AvailableReplicas }

// sum adds up a number of ReplicaSets.
func sum(sets []*appsv1.ReplicaSet, number func(*appsv1.ReplicaSet) int32) int32 {
	total := int32(0)
	for _, set := range sets {
		total += number(set)
	}
	return total
}
