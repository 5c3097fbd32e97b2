package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
			s := &workloadTest{t: t, client: client, namespace: "with-" + informers}
			s.createNamespace()
			startProgram(t, shared.Config(), "--informers="+informers)
			startKubelets(t, client, s.namespace)
			t.Run("Deployment", func(t *testing.T) { s.with(t).rollOut() })
			t.Run("Job", func(t *testing.T) { s.with(t).completeJob() })
			t.Run("server restarts", func(t *testing.T) { s.with(t).surviveRestarts() })
		})
	}
}

// workloadTest is a namespace in which a test creates workloads.
type workloadTest struct {
	t         *testing.T
	client    kubernetes.Interface
	namespace string
}

func (s *workloadTest) with(t *testing.T) *workloadTest {
	return &workloadTest{t, s.client, s.namespace}
}

func (s *workloadTest) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *workloadTest) createNamespace() {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	_, err := s.client.CoreV1().Namespaces().Create(s.t.Context(), space, metav1.CreateOptions{})
	s.must(err)
}

// rollOut performs the life cycle of a Deployment.
func (s *workloadTest) rollOut() {
	t, ctx := s.t, s.t.Context()
	s.create("example.com/web:1", 6)
	s.change(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "example.com/web:2" })
	await(t, "the update is rolled out", s.serves("example.com/web:2", 6))
	s.change(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](12) })
	await(t, "it is scaled up", s.serves("example.com/web:2", 12))
	s.change(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](4) })
	await(t, "it is scaled down", s.serves("example.com/web:2", 4))
	s.change(func(d *appsv1.Deployment) { d.Spec.Template = s.firstTemplate() })
	await(t, "it is rolled back", s.serves("example.com/web:1", 4))
	pods := s.pods()
	s.must(s.client.CoreV1().Pods(s.namespace).Delete(ctx, pods[0].Name, metav1.DeleteOptions{}))
	s.must(s.client.CoreV1().Pods(s.namespace).Delete(ctx, pods[1].Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	await(t, "deleted Pods are replaced", func(ctx context.Context) error {
		for _, pod := range s.pods() {
			if pod.UID == pods[0].UID || pod.UID == pods[1].UID {
				return fmt.Errorf("%s still exists", pod.Name)
			}
		}
		return s.serves("example.com/web:1", 4)(ctx)
	})

	s.remove()
}

// surviveRestarts rolls out a large Deployment while the API server is restarted. First it is
// killed and compacted, so that the programs receive the missed changes by lists.
func (s *workloadTest) surviveRestarts() {
	t, ctx := s.t, s.t.Context()
	s.create("example.com/web:1", 40)
	s.change(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "example.com/web:2" })
	s.must(shared.APIServer().Kill())
	_, err := shared.Compact(ctx)
	s.must(err)
	s.must(shared.APIServer().Start(ctx))
	await(t, "it is rolled out although the server crashed", s.serves("example.com/web:2", 40))
	s.change(func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](80) })
	s.must(shared.APIServer().Restart(ctx))
	await(t, "it is scaled up although the server was restarted", s.serves("example.com/web:2", 80))
	s.remove()
}

// create creates the Deployment and a Service for its Pods, and waits until both are up to date.
func (s *workloadTest) create(image string, replicas int32) {
	s.t.Helper()
	ctx := s.t.Context()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	_, err := s.client.CoreV1().Services(s.namespace).Create(ctx, service, metav1.CreateOptions{})
	s.must(err)
	_, err = s.client.AppsV1().Deployments(s.namespace).Create(ctx, newDeployment("web", image, replicas), metav1.CreateOptions{})
	s.must(err)
	await(s.t, "it is rolled out", s.serves(image, replicas))
}

// remove deletes the Deployment and the Service, and waits until the garbage collector has deleted
// their dependents.
func (s *workloadTest) remove() {
	s.t.Helper()
	background := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	s.must(s.client.AppsV1().Deployments(s.namespace).Delete(s.t.Context(), "web", background))
	s.must(s.client.CoreV1().Services(s.namespace).Delete(s.t.Context(), "web", background))
	await(s.t, "all objects are deleted", s.empty)
}

// completeJob performs the life cycle of a Job.
func (s *workloadTest) completeJob() {
	t, ctx := s.t, s.t.Context()
	template := podTemplate("sum", "example.com/sum:1")
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "sum"},
		Spec:       batchv1.JobSpec{Completions: ptr.To[int32](8), Parallelism: ptr.To[int32](3), Template: template},
	}
	_, err := s.client.BatchV1().Jobs(s.namespace).Create(ctx, job, metav1.CreateOptions{})
	s.must(err)
	await(t, "it completes", func(ctx context.Context) error {
		job, err := s.client.BatchV1().Jobs(s.namespace).Get(ctx, "sum", metav1.GetOptions{})
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
	if pods := s.pods(); len(pods) != 8 {
		t.Errorf("the Job has %d Pods, want 8", len(pods))
	}
	foreground := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)}
	s.must(s.client.BatchV1().Jobs(s.namespace).Delete(ctx, "sum", foreground))
	await(t, "all objects are deleted", s.empty)
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
func (s *workloadTest) change(change func(*appsv1.Deployment)) {
	s.t.Helper()
	deployments := s.client.AppsV1().Deployments(s.namespace)
	s.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		current, err := deployments.Get(s.t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(current)
		_, err = deployments.Update(s.t.Context(), current, metav1.UpdateOptions{})
		return err
	}))
}

// firstTemplate returns the template of the Deployment's first revision, as for a rollback.
func (s *workloadTest) firstTemplate() corev1.PodTemplateSpec {
	s.t.Helper()
	sets, err := s.client.AppsV1().ReplicaSets(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	s.must(err)
	for _, set := range sets.Items {
		if set.Annotations["deployment.kubernetes.io/revision"] == "1" {
			template := set.Spec.Template
			delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
			return template
		}
	}
	s.t.Fatal("no ReplicaSet has revision 1")
	return corev1.PodTemplateSpec{}
}

// pods returns the Pods of the namespace.
func (s *workloadTest) pods() []corev1.Pod {
	s.t.Helper()
	list, err := s.client.CoreV1().Pods(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	s.must(err)
	return list.Items
}

// serves returns a check that the Deployment has exactly replicas Pods, all of one image, that its
// status is up to date, and that the EndpointSlices have the Pods' addresses.
func (s *workloadTest) serves(image string, replicas int32) func(context.Context) error {
	return func(ctx context.Context) error {
		d, err := s.client.AppsV1().Deployments(s.namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		status := d.Status
		if status.ObservedGeneration != d.Generation || status.Replicas != replicas || status.UpdatedReplicas != replicas || status.AvailableReplicas != replicas {
			return fmt.Errorf("generation %d, status %+v", d.Generation, status)
		}
		var want []string
		for _, pod := range s.pods() {
			if got := pod.Spec.Containers[0].Image; got != image || pod.DeletionTimestamp != nil {
				return fmt.Errorf("%s runs %s, deleted at %v", pod.Name, got, pod.DeletionTimestamp)
			}
			want = append(want, pod.Status.PodIP)
		}
		got, err := s.addresses(ctx)
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
func (s *workloadTest) addresses(ctx context.Context) ([]string, error) {
	list, err := s.client.DiscoveryV1().EndpointSlices(s.namespace).List(ctx, metav1.ListOptions{})
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
func (s *workloadTest) empty(ctx context.Context) error {
	everything := metav1.ListOptions{}
	deployments, err1 := s.client.AppsV1().Deployments(s.namespace).List(ctx, everything)
	sets, err2 := s.client.AppsV1().ReplicaSets(s.namespace).List(ctx, everything)
	jobs, err3 := s.client.BatchV1().Jobs(s.namespace).List(ctx, everything)
	pods, err4 := s.client.CoreV1().Pods(s.namespace).List(ctx, everything)
	endpoints, err5 := s.client.DiscoveryV1().EndpointSlices(s.namespace).List(ctx, everything)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	left := []int{len(deployments.Items), len(sets.Items), len(jobs.Items), len(pods.Items), len(endpoints.Items)}
	if slices.Max(left) > 0 {
		return fmt.Errorf("numbers of Deployments, ReplicaSets, Jobs, Pods and EndpointSlices: %v, want none", left)
	}
	return nil
}
