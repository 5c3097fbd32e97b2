package dataset

import (
	"fmt"
	"strconv"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Replicas is how many Pods of one shape a set of Pods has.
type Replicas int

// The sets of Pods.
const (
	R20 Replicas = 20
	R3  Replicas = 3
	R1  Replicas = 1
)

// String returns the set's name.
func (r Replicas) String() string { return "R" + strconv.Itoa(int(r)) }

// Pods is a set of Pods without an end. Its methods are safe for concurrent use.
type Pods struct {
	replicas Replicas
	seed     uint64
	last     atomic.Pointer[workload] // drawing a shape costs more than drawing a Pod of it
}

// NewPods returns the set that a seed determines.
func NewPods(replicas Replicas, seed uint64) *Pods { return &Pods{replicas: replicas, seed: seed} }

// Pod returns the i-th Pod. It is the caller's.
func (p *Pods) Pod(i int) *corev1.Pod {
	number := i / int(p.replicas)
	w := p.last.Load()
	if w == nil || w.number != number {
		w = newWorkload(p.seed, number)
		p.last.Store(w)
	}
	return w.pod(i, newDraw(p.seed, streamPod, i))
}

// Take returns the first n Pods.
func (p *Pods) Take(n int) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = p.Pod(i)
	}
	return pods
}

// pod returns a replica: the shape, and what is its own.
func (w *workload) pod(i int, d draw) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *w.meta.DeepCopy(), Spec: *w.spec.DeepCopy()}
	created := w.created
	if d.chance(30) { // evicted or scaled up since
		created = later(w.created, d.between(1, 5*24*3600))
	}
	pod.Name = fmt.Sprintf("%s%s", w.meta.GenerateName, d.suffix(5))
	pod.UID = d.uid()
	pod.ResourceVersion = Version(i)
	pod.CreationTimestamp = created
	admit(pod, d)
	run(pod, w, d)
	pod.ManagedFields = w.managers(pod, d)
	return pod
}

// admit adds what admission plugins add to every Pod: the token of its service
// account, and tolerations.
func admit(pod *corev1.Pod, d draw) {
	token := "kube-api-access-" + d.suffix(5)
	pod.Spec.Volumes = append(pod.Spec.Volumes, tokenVolume(token))
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
			Name: token, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
		})
	}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300)),
		})
	}
}

func tokenVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32(420)),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}}}
}

// ownerOf returns the reference to the ReplicaSet.
func ownerOf(name string, d draw) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: d.uid(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}
