// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/kinformer/kinformer/e2e/cluster"
)

// TestPrograms checks that unmodified controllers and the scheduler work on kinformer's informers
// as on client-go's: a Deployment is rolled out, served, updated, scaled and rolled back, a Job
// completes, and the garbage collector deletes the rest.
func TestPrograms(t *testing.T) {
	shared = cluster.New(t, cluster.Options{})
	client := kubernetes.NewForConfigOrDie(shared.Config())
	createNodes(t, client, 3)
	for _, informers := range informerKinds() {
		t.Run(informers, func(t *testing.T) {
			w := &workloadTest{t: t, client: client, namespace: "with-" + informers}
			w.createNamespace()
			startProgram(t, shared.Config(), "--informers="+informers)
			startKubelets(t, client, w.namespace)
			t.Run("Deployment", func(t *testing.T) { w.with(t).rollOut() })
			t.Run("Job", func(t *testing.T) { w.with(t).completeJob() })
			t.Run("server restarts", func(t *testing.T) { w.with(t).surviveRestarts() })
		})
	}
}

// workloadTest is a namespace in which a test creates workloads.
type workloadTest struct {
	t         *testing.T
	client    kubernetes.Interface
	namespace string
}

func (w *workloadTest) with(t *testing.T) *workloadTest {
	return &workloadTest{t, w.client, w.namespace}
}

func (w *workloadTest) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *workloadTest) createNamespace() {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	_, err := w.client.CoreV1().Namespaces().Create(w.t.Context(), ns, metav1.CreateOptions{})
	w.must(err)
}

// rollOut performs the life cycle of a Deployment.
func (w *workloadTest) rollOut() {
	t, ctx := w.t, w.t.Context()
	w.create("example.com/web:1", 6)
	w.change(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "example.com/web:2" })
	await(t, "the update is rolled out", w.serves("example.com/web:2", 6))
	w.change(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](12) })
	await(t, "the Deployment is scaled up", w.serves("example.com/web:2", 12))
	w.change(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](4) })
	await(t, "the Deployment is scaled down", w.serves("example.com/web:2", 4))
	w.change(func(d *appsv1.Deployment) { d.Spec.Template = w.firstTemplate() })
	await(t, "the Deployment is rolled back", w.serves("example.com/web:1", 4))
	pods := w.pods()
	w.must(w.client.CoreV1().Pods(w.namespace).Delete(ctx, pods[0].Name, metav1.DeleteOptions{}))
	w.must(w.client.CoreV1().Pods(w.namespace).Delete(ctx, pods[1].Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	await(t, "deleted Pods are replaced", func(ctx context.Context) error {
		for _, pod := range w.pods() {
			if pod.UID == pods[0].UID || pod.UID == pods[1].UID {
				return fmt.Errorf("%s still exists", pod.Name)
			}
		}
		return w.serves("example.com/web:1", 4)(ctx)
	})

	w.remove()
}

// surviveRestarts rolls out a large Deployment while the API server is restarted. First it is
// killed and compacted, so that the programs receive the missed changes by lists.
func (w *workloadTest) surviveRestarts() {
	t, ctx := w.t, w.t.Context()
	w.create("example.com/web:1", 40)
	w.change(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "example.com/web:2" })
	w.must(shared.APIServer().Kill())
	_, err := shared.Compact(ctx)
	w.must(err)
	w.must(shared.APIServer().Start(ctx))
	await(t, "the update is rolled out although the server crashed", w.touchingService(w.serves("example.com/web:2", 40)))
	w.change(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](80) })
	w.must(shared.APIServer().Restart(ctx))
	await(t, "the Deployment is scaled up although the server restarted", w.touchingService(w.serves("example.com/web:2", 80)))
	w.remove()
}

// touchingService returns a check that also updates the Service twice a minute. The EndpointSlice
// controller fails while its informer of EndpointSlices is behind that of Pods, as it may be by
// some seconds after a restart of the server. It drops a Service that has failed 15 times, within
// half a second, until there is an event of the Service or of its Pods.
func (w *workloadTest) touchingService(check func(context.Context) error) func(context.Context) error {
	const interval = 30 * time.Second
	next := time.Now().Add(interval)
	return func(ctx context.Context) error {
		err := check(ctx)
		if err == nil || time.Now().Before(next) {
			return err
		}
		next = time.Now().Add(interval)
		w.t.Logf("update the Service, as %v", err)
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":%q}}}`, next)
		_, patchErr := w.client.CoreV1().Services(w.namespace).Patch(ctx, "web", types.MergePatchType, patch, metav1.PatchOptions{})
		return errors.Join(err, patchErr)
	}
}

// create creates the Deployment and a Service for its Pods, and waits until both are up to date.
func (w *workloadTest) create(image string, replicas int32) {
	w.t.Helper()
	ctx := w.t.Context()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	_, err := w.client.CoreV1().Services(w.namespace).Create(ctx, service, metav1.CreateOptions{})
	w.must(err)
	_, err = w.client.AppsV1().Deployments(w.namespace).Create(ctx, newDeployment("web", image, replicas), metav1.CreateOptions{})
	w.must(err)
	await(w.t, "the Deployment is rolled out", w.serves(image, replicas))
}

// remove deletes the Deployment and the Service, and waits until the garbage collector has deleted
// their dependents.
func (w *workloadTest) remove() {
	w.t.Helper()
	background := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	w.must(w.client.AppsV1().Deployments(w.namespace).Delete(w.t.Context(), "web", background))
	w.must(w.client.CoreV1().Services(w.namespace).Delete(w.t.Context(), "web", background))
	await(w.t, "all objects are deleted", w.empty)
}

// completeJob performs the life cycle of a Job.
func (w *workloadTest) completeJob() {
	t, ctx := w.t, w.t.Context()
	template := podTemplate("sum", "example.com/sum:1")
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "sum"},
		Spec:       batchv1.JobSpec{Completions: ptr.To[int32](8), Parallelism: ptr.To[int32](3), Template: template},
	}
	_, err := w.client.BatchV1().Jobs(w.namespace).Create(ctx, job, metav1.CreateOptions{})
	w.must(err)
	await(t, "the Job completes", func(ctx context.Context) error {
		job, err := w.client.BatchV1().Jobs(w.namespace).Get(ctx, "sum", metav1.GetOptions{})
		if err != nil {
			return err
		}
		done := slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		})
		if !done || job.Status.Succeeded != 8 {
			return fmt.Errorf("%d have succeeded: %v", job.Status.Succeeded, job.Status.Conditions)
		}
		return nil
	})
	if pods := w.pods(); len(pods) != 8 {
		t.Errorf("the Job has %d Pods, want 8", len(pods))
	}
	foreground := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)}
	w.must(w.client.BatchV1().Jobs(w.namespace).Delete(ctx, "sum", foreground))
	await(t, "all objects are deleted", w.empty)
}

func newDeployment(name, image string, replicas int32) *appsv1.Deployment {
	template := podTemplate(name, image)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: template,
		},
	}
}

func podTemplate(app, image string) corev1.PodTemplateSpec {
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
	main := corev1.Container{Name: "main", Image: image, Resources: corev1.ResourceRequirements{Requests: requests}}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{main}},
	}
}

// change updates the Deployment, and retries after a conflict.
func (w *workloadTest) change(change func(*appsv1.Deployment)) {
	w.t.Helper()
	deployments := w.client.AppsV1().Deployments(w.namespace)
	w.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		current, err := deployments.Get(w.t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(current)
		_, err = deployments.Update(w.t.Context(), current, metav1.UpdateOptions{})
		return err
	}))
}

// firstTemplate returns the template of the Deployment's first revision, as for a rollback.
func (w *workloadTest) firstTemplate() corev1.PodTemplateSpec {
	w.t.Helper()
	sets, err := w.client.AppsV1().ReplicaSets(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	w.must(err)
	for _, set := range sets.Items {
		if set.Annotations["deployment.kubernetes.io/revision"] == "1" {
			template := set.Spec.Template
			delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
			return template
		}
	}
	w.t.Fatal("no ReplicaSet has revision 1")
	return corev1.PodTemplateSpec{}
}

// pods returns the Pods of the namespace.
func (w *workloadTest) pods() []corev1.Pod {
	w.t.Helper()
	list, err := w.client.CoreV1().Pods(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	w.must(err)
	return list.Items
}

// serves returns a check that the Deployment has exactly replicas Pods, all of one image, that its
// status is up to date, and that the EndpointSlices have the Pods' addresses.
func (w *workloadTest) serves(image string, replicas int32) func(context.Context) error {
	return func(ctx context.Context) error {
		d, err := w.client.AppsV1().Deployments(w.namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		status := d.Status
		if status.ObservedGeneration != d.Generation || status.Replicas != replicas || status.UpdatedReplicas != replicas || status.AvailableReplicas != replicas {
			return fmt.Errorf("generation %d, status %+v", d.Generation, status)
		}
		var want []string
		for _, pod := range w.pods() {
			if got := pod.Spec.Containers[0].Image; got != image || pod.DeletionTimestamp != nil {
				return fmt.Errorf("%s runs %s, deleted at %v", pod.Name, got, pod.DeletionTimestamp)
			}
			want = append(want, pod.Status.PodIP)
		}
		got, err := w.addresses(ctx)
		if err != nil {
			return err
		}
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(got, want) || len(want) != int(replicas) {
			return fmt.Errorf("%d Pods %v, the EndpointSlices have %v", len(want), want, got)
		}
		return nil
	}
}

// addresses returns the addresses of ready endpoints.
func (w *workloadTest) addresses(ctx context.Context) ([]string, error) {
	list, err := w.client.DiscoveryV1().EndpointSlices(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, false) {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
	}
	return addresses, nil
}

// empty returns an error if the namespace has objects.
func (w *workloadTest) empty(ctx context.Context) error {
	everything := metav1.ListOptions{}
	deployments, err1 := w.client.AppsV1().Deployments(w.namespace).List(ctx, everything)
	sets, err2 := w.client.AppsV1().ReplicaSets(w.namespace).List(ctx, everything)
	jobs, err3 := w.client.BatchV1().Jobs(w.namespace).List(ctx, everything)
	pods, err4 := w.client.CoreV1().Pods(w.namespace).List(ctx, everything)
	endpoints, err5 := w.client.DiscoveryV1().EndpointSlices(w.namespace).List(ctx, everything)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	left := []int{len(deployments.Items), len(sets.Items), len(jobs.Items), len(pods.Items), len(endpoints.Items)}
	if slices.Max(left) > 0 {
		return fmt.Errorf("numbers of Deployments, ReplicaSets, Jobs, Pods and EndpointSlices: %v, want none", left)
	}
	return nil
}
