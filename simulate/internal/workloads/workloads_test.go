// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// e2e/upstream/workloads compares the actors with the controllers of Kubernetes. The tests here
// need no Kubernetes.

// TestMain makes a simulation five runs, unless the command line says otherwise.
func TestMain(m *testing.M) {
	if err := flag.Set("simulate.runs", "5"); err != nil {
		panic(err) // package simulate has the flag
	}
	m.Run()
}

// runWorkloads executes steps in a cluster with Workloads and observers, in some orders, which must
// end alike.
func runWorkloads(t *testing.T, steps func(settledWorld), observers ...simulate.Actor) {
	t.Helper()
	idle := func(ctx context.Context, _ *rest.Config) error {
		<-ctx.Done()
		return nil
	}
	test := simulate.Test{
		Start: idle, Cluster: append(simulate.Workloads(), observers...),
		Disturb: []simulate.Disturbance{}, Without: []simulate.Oracle{simulate.EndState}, // the program writes nothing
	}
	test.Steps = func(w *simulate.World) { steps(settledWorld{w}) }
	simulate.Run(t, test)
}

// settledWorld is a World that settles after each write. A write by its World does not wait.
type settledWorld struct{ *simulate.World }

func (w settledWorld) Create(obj fake.Object) {
	w.World.Create(obj)
	w.Settle()
}

func (w settledWorld) Update(obj fake.Object) {
	w.World.Update(obj)
	w.Settle()
}

func (w settledWorld) Delete(obj fake.Object) {
	w.World.Delete(obj)
	w.Settle()
}

// observe returns an actor that only looks.
func observe(look func(simulate.State)) simulate.Actor {
	return func(s simulate.State) []simulate.Action {
		look(s)
		return nil
	}
}

// wantAll requires what a function says of each object of a Go type, in order.
func wantAll[T fake.Object](t *testing.T, w settledWorld, say func(T) string, want ...string) {
	t.Helper()
	var got []string
	for _, obj := range simulate.All[T](w.State()) {
		got = append(got, say(obj))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%T (-want +got):\n%s", *new(T), diff)
	}
}

func nameOf[T fake.Object](obj T) string { return obj.GetName() }

func imageOf(pod *corev1.Pod) string { return pod.Spec.Containers[0].Image }

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }

// newTemplate returns a template of Pods that have one container.
func newTemplate(app, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: app, Image: image}}},
	}
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: named(name), Spec: newTemplate("db", "db").Spec}
}

func newDeployment(image string, replicas int32) *appsv1.Deployment {
	template := newTemplate("web", image)
	return &appsv1.Deployment{ObjectMeta: named("web"), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(1)),
		}},
	}}
}

// newStatefulSet returns a StatefulSet whose Pods have a claim each.
func newStatefulSet(image string, replicas int32) *appsv1.StatefulSet {
	template := newTemplate("db", image)
	return &appsv1.StatefulSet{ObjectMeta: named("db"), Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, ServiceName: "db", Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*newClaim("data")},
	}}
}

func newClaim(name string) *corev1.PersistentVolumeClaim {
	requests := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return &corev1.PersistentVolumeClaim{ObjectMeta: named(name), Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: requests},
	}}
}

func sayReplicaSet(set *appsv1.ReplicaSet) string {
	return fmt.Sprintf("%s: %d of %d, revision %s after %q", set.Spec.Template.Spec.Containers[0].Image, set.Status.AvailableReplicas, *set.Spec.Replicas,
		set.Annotations["deployment.kubernetes.io/revision"], set.Annotations["deployment.kubernetes.io/revision-history"])
}

func sayDeployment(d *appsv1.Deployment) string {
	var conditions []string
	for _, c := range d.Status.Conditions {
		conditions = append(conditions, c.Reason)
	}
	slices.Sort(conditions)
	return fmt.Sprintf("%d updated, %d available, revision %s, %s", d.Status.UpdatedReplicas, d.Status.AvailableReplicas,
		d.Annotations["deployment.kubernetes.io/revision"], strings.Join(conditions, " "))
}

func TestDeploymentRollsWithinLimits(t *testing.T) {
	rolling := false
	limits := observe(func(s simulate.State) {
		ready, wanted := 0, int32(0)
		for _, pod := range simulate.All[*corev1.Pod](s) {
			if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
				ready++
			}
		}
		for _, set := range simulate.All[*appsv1.ReplicaSet](s) {
			wanted += *set.Spec.Replicas
		}
		if rolling && (ready < 3 || wanted > 5) {
			t.Errorf("%d Pods are wanted and %d ready, while at most 5 and at least 3 are allowed", wanted, ready)
		}
	})
	runWorkloads(t, func(w settledWorld) {
		w.Create(newDeployment("a", 4))
		rolling = true
		w.Update(newDeployment("b", 4))
		wantAll(t, w, sayReplicaSet, `a: 0 of 0, revision 1 after ""`, `b: 4 of 4, revision 2 after ""`)
		w.Update(newDeployment("a", 4))
		wantAll(t, w, sayReplicaSet, `a: 4 of 4, revision 3 after "1"`, `b: 0 of 0, revision 2 after ""`)
		wantAll(t, w, sayDeployment, "4 updated, 4 available, revision 3, MinimumReplicasAvailable NewReplicaSetAvailable")
		w.Update(newDeployment("b", 4))
		w.Update(newDeployment("a", 4))
		wantAll(t, w, sayReplicaSet, `a: 4 of 4, revision 5 after "1,3"`, `b: 0 of 0, revision 4 after "2"`)
		rolling = false
	}, limits)
}

// withoutClaim returns a Deployment whose Pods wait for a claim that does not exist.
func withoutClaim(d *appsv1.Deployment) *appsv1.Deployment {
	d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "absent", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "absent"},
	}}}
	return d
}

// Of two ReplicaSets of one size, the newer one is scaled up first, and the older one down.
func TestPausedDeploymentScalesEqualReplicaSets(t *testing.T) {
	runWorkloads(t, func(w settledWorld) {
		d := newDeployment("a", 8)
		d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable = new(intstr.FromInt32(2)), new(intstr.FromInt32(3))
		w.Create(d)
		broken := withoutClaim(d.DeepCopy())
		w.Update(broken)
		size := func(set *appsv1.ReplicaSet) string {
			return fmt.Sprintf("%d volumes: %d", len(set.Spec.Template.Spec.Volumes), *set.Spec.Replicas)
		}
		wantAll(t, w, size, "0 volumes: 5", "1 volumes: 5")
		broken.Spec.Paused, broken.Spec.Replicas = true, new(int32(9))
		w.Update(broken)
		wantAll(t, w, size, "0 volumes: 5", "1 volumes: 6")
		broken.Spec.Replicas = new(int32(7))
		w.Update(broken)
		wantAll(t, w, size, "0 volumes: 4", "1 volumes: 5")
		for _, set := range simulate.All[*appsv1.ReplicaSet](w.State()) {
			if len(set.Spec.Template.Spec.Volumes) == 0 {
				set = set.DeepCopy()
				set.Spec.Replicas = new(int32(1))
				w.World.Update(set)
			}
		}
		w.Settle() // the largest gets the rest
		wantAll(t, w, size, "0 volumes: 1", "1 volumes: 8")
	})
}

func TestPausedDeploymentScalesInProportion(t *testing.T) {
	runWorkloads(t, func(w settledWorld) {
		broken := withoutClaim(newDeployment("b", 8))
		w.Create(newDeployment("a", 8))
		w.Update(broken)
		wantAll(t, w, sayReplicaSet, `a: 7 of 7, revision 1 after ""`, `b: 0 of 2, revision 2 after ""`)
		broken.Spec.Paused, broken.Spec.Replicas = true, new(int32(17))
		w.Update(broken)
		wantAll(t, w, sayReplicaSet, `a: 14 of 14, revision 1 after ""`, `b: 0 of 4, revision 2 after ""`)
	})
}

func TestRecreateStopsOldPodsFirst(t *testing.T) {
	oneImage := observe(func(s simulate.State) {
		images := map[string]bool{}
		for _, pod := range simulate.All[*corev1.Pod](s) {
			images[imageOf(pod)] = true
		}
		if len(images) > 1 {
			t.Errorf("there are Pods of %d templates", len(images))
		}
	})
	recreated := func(image string) *appsv1.Deployment {
		d := newDeployment(image, 2)
		d.Spec.Strategy, d.Spec.RevisionHistoryLimit = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, new(int32(1))
		return d
	}
	runWorkloads(t, func(w settledWorld) {
		w.Create(recreated("a"))
		w.Update(recreated("b"))
		w.Update(recreated("c"))
		wantAll(t, w, sayReplicaSet, `b: 0 of 0, revision 2 after ""`, `c: 2 of 2, revision 3 after ""`)
	}, oneImage)
}

func TestStatefulSetKeepsOrder(t *testing.T) {
	order := observe(func(s simulate.State) {
		previous := true
		for _, pod := range simulate.All[*corev1.Pod](s) { // in the order of their names
			if !previous && pod.Status.Phase == "Pending" {
				t.Errorf("Pod %s is created before the one before it runs", pod.Name)
			}
			previous = pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
		}
	})
	set := func(image string, replicas, partition int32) *appsv1.StatefulSet {
		s := newStatefulSet(image, replicas)
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
		}
		return s
	}
	sayPod := func(pod *corev1.Pod) string { return pod.Name + " " + imageOf(pod) + " " + string(pod.Status.Phase) }
	runWorkloads(t, func(w settledWorld) {
		w.Create(set("a", 3, 0))
		w.Update(set("b", 3, 2))
		w.Delete(&corev1.Pod{ObjectMeta: named("db-0")}) // below the partition, it keeps its template
		wantAll(t, w, sayPod, "db-0 a Running", "db-1 a Running", "db-2 b Running")
		w.Update(set("b", 2, 0))
		wantAll(t, w, sayPod, "db-0 b Running", "db-1 b Running")
		wantAll(t, w, nameOf[*corev1.PersistentVolumeClaim], "data-db-0", "data-db-1", "data-db-2")
		w.Update(set("a", 2, 0))
		wantAll(t, w, func(r *appsv1.ControllerRevision) string { return fmt.Sprint(r.Revision) }, "2", "3")
	}, order)
}

func TestClaimsAreDeletedAsTheirPolicySays(t *testing.T) {
	set := newStatefulSet("a", 2)
	set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
	}
	runWorkloads(t, func(w settledWorld) {
		w.Create(set)
		one := set.DeepCopy()
		one.Spec.Replicas = new(int32(1))
		w.Update(one)
		wantAll(t, w, nameOf[*corev1.PersistentVolumeClaim], "data-db-0")
		w.Delete(set)
		wantAll(t, w, nameOf[*corev1.PersistentVolumeClaim])
		wantAll(t, w, nameOf[*appsv1.ControllerRevision])
	})
}

func TestClaimStaysWhileItIsUsed(t *testing.T) {
	pod := newPod("db")
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	claim := newClaim("data")
	phase := func(pod *corev1.Pod) string { return string(pod.Status.Phase) }
	runWorkloads(t, func(w settledWorld) {
		w.Create(pod)
		wantAll(t, w, phase, "Pending")
		w.Create(claim)
		wantAll(t, w, phase, "Running")
		w.Delete(claim)
		wantAll(t, w, nameOf[*corev1.PersistentVolumeClaim], "data")
		w.Delete(pod)
		wantAll(t, w, nameOf[*corev1.PersistentVolumeClaim])
	})
}

func newJob(change func(*batchv1.JobSpec)) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: named("work"), Spec: batchv1.JobSpec{
		Completions: new(int32(3)), Parallelism: new(int32(2)), Template: corev1.PodTemplateSpec{Spec: newPod("").Spec},
	}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	change(&job.Spec)
	return job
}

func sayJob(job *batchv1.Job) string {
	var conditions []string
	for _, c := range job.Status.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s", c.Type, c.Status))
	}
	return fmt.Sprintf("%d active, %d succeeded, %d failed, indexes %q, %s",
		job.Status.Active, job.Status.Succeeded, job.Status.Failed, job.Status.CompletedIndexes, strings.Join(conditions, " "))
}

func TestJobCompletes(t *testing.T) {
	parallelism := observe(func(s simulate.State) {
		active := 0
		for _, pod := range simulate.All[*corev1.Pod](s) {
			if pod.Status.Phase != corev1.PodSucceeded {
				active++
			}
		}
		if active > 2 {
			t.Errorf("%d Pods run at once, want at most 2", active)
		}
	})
	for _, mode := range []batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion} {
		t.Run(string(mode), func(t *testing.T) {
			indexes := ""
			if mode == batchv1.IndexedCompletion {
				indexes = "0-2"
			}
			runWorkloads(t, func(w settledWorld) {
				job := newJob(func(spec *batchv1.JobSpec) { spec.CompletionMode, spec.Suspend = &mode, new(true) })
				w.Create(job)
				wantAll(t, w, sayJob, `0 active, 0 succeeded, 0 failed, indexes "", Suspended=True`)
				w.Get(job)
				job.Spec.Suspend = new(false)
				w.Update(job)
				wantAll(t, w, sayJob, fmt.Sprintf(`0 active, 3 succeeded, 0 failed, indexes %q, Suspended=False SuccessCriteriaMet=True Complete=True`, indexes))
				wantAll(t, w, func(pod *corev1.Pod) string { return fmt.Sprint(pod.Status.Phase, pod.Finalizers) }, "Succeeded[]", "Succeeded[]", "Succeeded[]")
			}, parallelism)
		})
	}
}

func TestJobWithLessParallelismKeepsHighIndexes(t *testing.T) {
	job := func(parallelism int32) *batchv1.Job {
		return newJob(func(spec *batchv1.JobSpec) {
			spec.CompletionMode, spec.Parallelism = new(batchv1.IndexedCompletion), &parallelism
			spec.Template.Spec.Volumes = []corev1.Volume{{Name: "absent", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "absent"},
			}}}
		})
	}
	runWorkloads(t, func(w settledWorld) {
		w.Create(job(3))
		less := job(3)
		w.Get(less)
		less.Spec.Parallelism = new(int32(1))
		w.Update(less)
		wantAll(t, w, func(pod *corev1.Pod) string { return pod.Labels[batchv1.JobCompletionIndexAnnotation] }, "2")
		wantAll(t, w, sayJob, `1 active, 0 succeeded, 0 failed, indexes "", `)
	})
}

// A Pod that is deleted before its claim exists has failed.
func TestJobFailsAfterItsLimit(t *testing.T) {
	for _, policy := range []batchv1.PodReplacementPolicy{batchv1.TerminatingOrFailed, batchv1.Failed} {
		t.Run(string(policy), func(t *testing.T) { testJobFails(t, policy) })
	}
}

func testJobFails(t *testing.T, policy batchv1.PodReplacementPolicy) {
	t.Helper()
	job := newJob(func(spec *batchv1.JobSpec) {
		spec.BackoffLimit, spec.PodReplacementPolicy = new(int32(0)), &policy
		spec.Template.Spec.Volumes = []corev1.Volume{{Name: "absent", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "absent"},
		}}}
	})
	runWorkloads(t, func(w settledWorld) {
		w.Create(job)
		w.Delete(simulate.All[*corev1.Pod](w.State())[0])
		wantAll(t, w, sayJob, `0 active, 0 succeeded, 2 failed, indexes "", FailureTarget=True Failed=True`)
		wantAll(t, w, nameOf[*corev1.Pod])
	})
}

// deleted deletes the Deployment, with the propagation policy that a finalizer asks for.
func deleted(w settledWorld, finalizer string) {
	d := newDeployment("a", 1)
	w.Create(d)
	if finalizer != "" {
		d.Finalizers = []string{finalizer}
		w.World.Update(d)
	}
	w.Delete(d)
}

func TestGarbageIsCollected(t *testing.T) {
	t.Run("background", func(t *testing.T) {
		runWorkloads(t, func(w settledWorld) {
			deleted(w, "")
			wantAll(t, w, nameOf[*appsv1.ReplicaSet])
			wantAll(t, w, nameOf[*corev1.Pod])
		})
	})
	t.Run("foreground", func(t *testing.T) {
		last := observe(func(s simulate.State) {
			if len(simulate.All[*appsv1.Deployment](s)) == 0 && len(simulate.All[*corev1.Pod](s)) > 0 {
				t.Error("the Deployment is gone before its Pod")
			}
		})
		runWorkloads(t, func(w settledWorld) {
			deleted(w, metav1.FinalizerDeleteDependents)
			wantAll(t, w, nameOf[*appsv1.Deployment])
			wantAll(t, w, nameOf[*corev1.Pod])
		}, last)
	})
	t.Run("orphan", func(t *testing.T) {
		runWorkloads(t, func(w settledWorld) {
			deleted(w, metav1.FinalizerOrphanDependents)
			wantAll(t, w, nameOf[*appsv1.Deployment])
			wantAll(t, w, func(set *appsv1.ReplicaSet) string { return fmt.Sprint(*set.Spec.Replicas, len(set.OwnerReferences)) }, "1 0")
			w.Create(newDeployment("a", 2)) // adopts the ReplicaSet
			wantAll(t, w, sayReplicaSet, `a: 2 of 2, revision 1 after ""`)
		})
	})
}

func TestNamespaceIsEmptiedAndRemoved(t *testing.T) {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "space"}}
	runWorkloads(t, func(w settledWorld) {
		d := newDeployment("a", 2)
		d.Namespace = space.Name
		w.World.Create(space)
		w.Create(d)
		w.Delete(space)
		wantAll(t, w, nameOf[*corev1.Namespace])
		wantAll(t, w, nameOf[*appsv1.Deployment])
		wantAll(t, w, nameOf[*corev1.Pod])
	})
}

// A Namespace with a finalizer stays, and the cluster is at rest.
func TestNamespaceWaitsForItsFinalizers(t *testing.T) {
	runWorkloads(t, func(w settledWorld) {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "space", Finalizers: []string{"example.com/cleanup"}}}
		w.World.Create(space)
		w.Delete(space)
		wantAll(t, w, nameOf[*corev1.Namespace], "space")
		w.Get(space)
		space.Finalizers = []string{}
		w.Update(space)
		wantAll(t, w, nameOf[*corev1.Namespace])
	})
}

func TestPodWaitsForItsSchedulingGates(t *testing.T) {
	phase := func(pod *corev1.Pod) string { return string(pod.Status.Phase) }
	pod := newPod("db")
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/quota"}}
	runWorkloads(t, func(w settledWorld) {
		w.Create(pod)
		wantAll(t, w, phase, "Pending")
		w.Update(newPod("db"))
		wantAll(t, w, phase, "Running")
	})
}

func TestPodWaitsForItsReadinessGates(t *testing.T) {
	ready := func(pod *corev1.Pod) string {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady {
				return string(c.Status)
			}
		}
		return ""
	}
	// The readiness gate has the value of a label.
	balancer := func(s simulate.State) []simulate.Action {
		for _, pod := range simulate.All[*corev1.Pod](s) {
			next, wanted := pod.DeepCopy(), corev1.ConditionStatus(pod.Labels["target"])
			i := slices.IndexFunc(next.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == "example.com/target" })
			switch {
			case wanted == "" || i >= 0 && next.Status.Conditions[i].Status == wanted:
				continue
			case i < 0:
				next.Status.Conditions = append(next.Status.Conditions, corev1.PodCondition{Type: "example.com/target", Status: wanted})
			default:
				next.Status.Conditions[i].Status = wanted
			}
			return []simulate.Action{{Verb: "update status", Object: next}}
		}
		return nil
	}
	runWorkloads(t, func(w settledWorld) {
		pod := newPod("db")
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/target"}}
		w.Create(pod)
		wantAll(t, w, ready, "False")
		for _, status := range []string{"True", "False"} {
			w.Get(pod)
			pod.Labels = map[string]string{"target": status}
			w.Update(pod)
			wantAll(t, w, ready, status)
		}
	}, balancer)
}

// The garbage collector does not delete a cluster-scoped object that refers to an object in a
// Namespace.
func TestClusterScopedObjectIsNotOwnedByOneInANamespace(t *testing.T) {
	runWorkloads(t, func(w settledWorld) {
		owner := &corev1.ConfigMap{ObjectMeta: named("owner")}
		w.World.Create(owner)
		w.Get(owner)
		w.World.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap")),
		}}})
		w.Settle()
		wantAll(t, w, nameOf[*corev1.Node], "node")
		w.Delete(owner)
		wantAll(t, w, nameOf[*corev1.Node], "node")
	})
}

// A real server refuses these workloads.
func TestInvalidWorkloadsDoNothing(t *testing.T) {
	runWorkloads(t, func(w settledWorld) {
		selector := newJob(func(spec *batchv1.JobSpec) { spec.ManualSelector = new(true) })
		selector.Name = "selector"
		w.World.Create(selector)
		w.World.Create(newJob(func(spec *batchv1.JobSpec) {
			spec.Completions, spec.CompletionMode = nil, new(batchv1.IndexedCompletion)
		}))
		w.World.Create(newDeployment("a", -1))
		w.Create(newStatefulSet("a", -1))
		wantAll(t, w, nameOf[*corev1.Pod])
		wantAll(t, w, nameOf[*appsv1.ReplicaSet])
	})
}

// A Pod that a label takes from its ReplicaSet is replaced, and too many are deleted when it comes
// back.
func TestReplicaSetReleasesAndAdopts(t *testing.T) {
	runWorkloads(t, func(w settledWorld) {
		w.Create(newDeployment("a", 2))
		pod := simulate.All[*corev1.Pod](w.State())[0].DeepCopy()
		pod.Labels["app"] = "debugged"
		w.Update(pod)
		wantAll(t, w, func(pod *corev1.Pod) string { return fmt.Sprintf("%s %d", pod.Labels["app"], len(pod.OwnerReferences)) }, "debugged 0", "web 1", "web 1")
		pod.Labels["app"], pod.OwnerReferences = "web", nil
		w.Update(pod)
		wantAll(t, w, func(pod *corev1.Pod) string { return fmt.Sprintf("%s %d", pod.Labels["app"], len(pod.OwnerReferences)) }, "web 1", "web 1")
	})
}

// A new Pod waits for the claim that is deleted, and is the first to go.
func TestReplicaSetDeletesPodsThatDoNotRunFirst(t *testing.T) {
	sized := func(replicas int32) *appsv1.Deployment {
		d := newDeployment("a", replicas)
		d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
		return d
	}
	phase := func(pod *corev1.Pod) string { return string(pod.Status.Phase) }
	runWorkloads(t, func(w settledWorld) {
		claim := newClaim("data")
		w.World.Create(claim)
		w.Create(sized(1))
		w.World.Delete(claim)
		w.Update(sized(2))
		wantAll(t, w, phase, "Pending", "Running")
		w.Update(sized(1))
		wantAll(t, w, phase, "Running")
	})
}

func TestWorkloadThatSelectsOtherPodsDoesNothing(t *testing.T) {
	runWorkloads(t, func(w settledWorld) {
		d, set := newDeployment("a", 1), newStatefulSet("a", 1)
		d.Spec.Selector, set.Spec.Selector.MatchLabels = nil, map[string]string{"app": "other"}
		w.World.Create(d)
		w.Create(set)
		wantAll(t, w, nameOf[*corev1.Pod])
	})
}
