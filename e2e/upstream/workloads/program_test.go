// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// program is a random sequence of what users do. It is the same each time that it runs with equal
// states.
type program struct {
	random *rand.Rand
	world  *simulate.World
}

const namespace = "default"

func (p *program) n(n int) int { return p.random.IntN(n) }

func pick[T any](p *program, items ...T) T { return items[p.n(len(items))] }

// step does one thing, and returns a description.
func (p *program) step() string {
	for {
		if done := p.try(); done != "" {
			return done
		}
	}
}

// try does one thing, if the state allows it.
func (p *program) try() string {
	steps := []func() string{
		p.createDeployment, p.updateDeployment, p.updateDeployment, p.updateDeployment,
		p.createStatefulSet, p.updateStatefulSet, p.updateStatefulSet, p.updateStatefulSet,
		p.createJob, p.createJob, p.updateJob, p.updateJob, p.toggleHold,
		p.deleteWorkload, p.deleteWorkload, p.deleteDependent, p.deleteDependent, p.relabelPod, p.createReplicaSet,
	}
	return pick(p, steps...)()
}

func (p *program) named(names ...string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: pick(p, names...)}
}

// create creates an object, unless there is one of its name.
func create[T fake.Object](p *program, obj, empty T) string {
	empty.SetNamespace(namespace)
	empty.SetName(obj.GetName())
	if p.world.Get(empty) {
		return ""
	}
	p.world.Create(obj)
	return fmt.Sprintf("create %T %s", obj, obj.GetName())
}

// update changes one of the objects of a Go type.
func update[T fake.Object](p *program, change func(T) string) string {
	chosen, ok := choose(p, func(obj fake.Object) bool {
		_, ok := obj.(T)
		return ok && obj.GetDeletionTimestamp() == nil
	})
	if !ok {
		return ""
	}
	next := chosen.DeepCopyObject().(T)
	what := change(next)
	if what == "" {
		return ""
	}
	p.world.Update(next)
	return fmt.Sprintf("update %T %s: %s", next, stableName(next), what)
}

// choose returns one of the objects for which is returns true.
func choose(p *program, is func(fake.Object) bool) (fake.Object, bool) {
	all := slices.DeleteFunc(describeAll(p.world.State()), func(d described) bool { return !is(d.Object) })
	if len(all) == 0 {
		return nil, false
	}
	return all[p.n(len(all))].Object, true
}

func (p *program) template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: p.image()}}},
	}
}

func (p *program) image() string { return pick(p, "a", "b", "c") }

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func (p *program) createDeployment() string {
	meta := p.named("web", "api")
	d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(p.n(5))), Selector: selector(meta.Name), Template: p.template(meta.Name), Paused: p.n(10) == 0,
		RevisionHistoryLimit: pick(p, nil, new(int32(0)), new(int32(1))),
	}}
	switch p.n(3) {
	case 0:
		d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	case 1:
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{
			MaxSurge:       pick(p, new(intstr.FromInt32(1)), new(intstr.FromInt32(2)), new(intstr.FromString("50%"))),
			MaxUnavailable: pick(p, new(intstr.FromInt32(0)), new(intstr.FromInt32(2)), new(intstr.FromString("30%"))),
		}
	}
	return create(p, d, &appsv1.Deployment{})
}

func (p *program) updateDeployment() string {
	return update(p, func(d *appsv1.Deployment) string {
		switch p.n(6) {
		case 0, 1:
			d.Spec.Replicas = new(int32(p.n(6)))
			return fmt.Sprintf("replicas %d", *d.Spec.Replicas)
		case 2:
			d.Spec.Paused = !d.Spec.Paused
			return fmt.Sprintf("paused %v", d.Spec.Paused)
		case 3:
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, "note", p.image())
			return "annotation"
		}
		d.Spec.Template.Spec.Containers[0].Image = p.image()
		return "image " + d.Spec.Template.Spec.Containers[0].Image
	})
}

func (p *program) createReplicaSet() string {
	return create(p, &appsv1.ReplicaSet{ObjectMeta: p.named("bare"), Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(p.n(3))), Selector: selector("bare"), Template: p.template("bare"),
	}}, &appsv1.ReplicaSet{})
}

func (p *program) createStatefulSet() string {
	meta := p.named("db", "queue")
	set := &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(p.n(4))), Selector: selector(meta.Name), Template: p.template(meta.Name), ServiceName: meta.Name,
		PodManagementPolicy:  pick(p, appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement),
		RevisionHistoryLimit: pick(p, nil, new(int32(0)), new(int32(1))),
	}}
	if p.n(4) == 0 {
		set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	}
	if p.n(4) == 0 {
		set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: int32(p.n(3))}
	}
	if p.n(2) == 0 {
		policies := []appsv1.PersistentVolumeClaimRetentionPolicyType{
			appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		}
		set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: pick(p, policies...), WhenScaled: pick(p, policies...),
		}
	}
	if meta.Name == "db" { // adopted Pods must have claims, too: they cannot be changed
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}}
	}
	return create(p, set, &appsv1.StatefulSet{})
}

func (p *program) updateStatefulSet() string {
	return update(p, func(set *appsv1.StatefulSet) string {
		switch p.n(6) {
		case 0, 1:
			set.Spec.Replicas = new(int32(p.n(5)))
			return fmt.Sprintf("replicas %d", *set.Spec.Replicas)
		case 2:
			if set.Spec.UpdateStrategy.RollingUpdate != nil {
				set.Spec.UpdateStrategy.RollingUpdate.Partition = new(int32(p.n(3)))
				return fmt.Sprintf("partition %d", *set.Spec.UpdateStrategy.RollingUpdate.Partition)
			}
		case 3:
			if set.Spec.PersistentVolumeClaimRetentionPolicy != nil {
				set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
				return "claims are deleted"
			}
		}
		set.Spec.Template.Spec.Containers[0].Image = p.image()
		return "image " + set.Spec.Template.Spec.Containers[0].Image
	})
}

func (p *program) createJob() string {
	meta := p.named("a", "b", "c")
	template := p.template("job")
	template.Spec.RestartPolicy = pick(p, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure)
	template.Labels[pick(p, "hold", "hold", "none", "fail")] = "true"
	job := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{
		Template: template, Parallelism: new(int32(p.n(4))), Completions: pick(p, nil, new(int32(1)), new(int32(3)), new(int32(5))),
		Suspend: new(p.n(4) == 0), BackoffLimit: new(int32(p.n(3))),
		PodReplacementPolicy: pick(p, nil, new(batchv1.Failed), new(batchv1.TerminatingOrFailed)),
	}}
	if job.Spec.Completions != nil && p.n(2) == 0 {
		job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	}
	if p.n(3) == 0 { // it is deleted by the garbage collector
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "owner"}}
		if p.world.Get(owner) {
			job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
		}
	}
	return create(p, job, &batchv1.Job{})
}

func (p *program) updateJob() string {
	return update(p, func(job *batchv1.Job) string {
		if p.n(2) == 0 {
			job.Spec.Parallelism = new(int32(p.n(4)))
			return fmt.Sprintf("parallelism %d", *job.Spec.Parallelism)
		}
		job.Spec.Suspend = new(!*job.Spec.Suspend)
		return fmt.Sprintf("suspend %v", *job.Spec.Suspend)
	})
}

// toggleHold creates or deletes a ConfigMap: "release" lets the Pods of Jobs end, and "owner" owns
// Jobs.
func (p *program) toggleHold() string {
	marker := &corev1.ConfigMap{ObjectMeta: p.named("release", "owner")}
	if p.world.Get(marker) {
		return p.delete(marker)
	}
	return create(p, marker, &corev1.ConfigMap{})
}

func (p *program) deleteWorkload() string {
	return p.deleteOne(func(obj fake.Object) bool {
		switch obj.(type) {
		case *appsv1.Deployment, *appsv1.StatefulSet, *batchv1.Job, *appsv1.ReplicaSet:
			return true
		}
		return false
	})
}

func (p *program) deleteDependent() string {
	return p.deleteOne(func(obj fake.Object) bool {
		switch obj.(type) {
		case *corev1.Pod, *corev1.PersistentVolumeClaim:
			return true
		}
		return false
	})
}

func (p *program) deleteOne(is func(fake.Object) bool) string {
	obj, ok := choose(p, func(obj fake.Object) bool { return is(obj) && obj.GetDeletionTimestamp() == nil })
	if !ok {
		return ""
	}
	return p.delete(obj)
}

// delete deletes an object with one of the propagation policies, which a finalizer asks for.
func (p *program) delete(obj fake.Object) string {
	policy := pick(p, "", metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents)
	if policy != "" {
		next := obj.DeepCopyObject().(fake.Object)
		next.SetFinalizers(append(next.GetFinalizers(), policy))
		p.world.Update(next)
	}
	p.world.Delete(obj)
	return strings.TrimSpace(fmt.Sprintf("delete %T %s %s", obj, stableName(obj), policy))
}

// relabelPod takes a Pod from its controller, or brings it back. Those of StatefulSets stay: while
// a Pod that is not its own has the name of one, the controller of StatefulSets fails, and what it
// does before it fails is left to chance. Those of Jobs are selected by another label: they would
// differ, and which of two equal Pods goes first is chance, too.
func (p *program) relabelPod() string {
	return update(p, func(pod *corev1.Pod) string {
		if pod.Labels["apps.kubernetes.io/pod-index"] != "" || pod.Labels["job-name"] != "" {
			return ""
		}
		app, isReleased := strings.CutSuffix(pod.Labels["app"], "-released")
		if !isReleased {
			app += "-released"
		}
		pod.Labels["app"] = app
		return "app " + app
	})
}
