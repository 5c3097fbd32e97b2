// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"
	"strconv"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodsPerWorkload is the number of Pods of each workload in a set of Pods. Pods of one workload are
// similar; those of different workloads are not.
type PodsPerWorkload int

// String returns for instance "20 per workload".
func (n PodsPerWorkload) String() string { return strconv.Itoa(int(n)) + " per workload" }

// Pods is an unlimited set of Pods. Its methods are safe for concurrent use.
type Pods struct {
	perWorkload PodsPerWorkload
	seed        uint64
	last        atomic.Pointer[workload] // a workload takes longer to make than one of its Pods
}

// NewPods returns the set of a seed.
func NewPods(perWorkload PodsPerWorkload, seed uint64) *Pods {
	return &Pods{perWorkload: perWorkload, seed: seed}
}

// Pod returns the i-th Pod. The caller may change it.
func (p *Pods) Pod(i int) *corev1.Pod {
	number := i / int(p.perWorkload)
	w := p.last.Load()
	if w == nil || w.number != number {
		w = newWorkload(p.seed, number)
		p.last.Store(w)
	}
	return w.pod(i, newRandom(p.seed, streamPod, i))
}

// Take returns the first n Pods.
func (p *Pods) Take(n int) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = p.Pod(i)
	}
	return pods
}

// pod returns the i-th Pod: the template, and the fields in which Pods differ.
func (w *workload) pod(i int, r random) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *w.meta.DeepCopy(), Spec: *w.spec.DeepCopy()}
	created := w.created
	if r.chance(30) { // evicted or scaled up since
		created = later(w.created, r.between(1, 5*24*3600))
	}
	pod.Name = fmt.Sprintf("%s%s", w.meta.GenerateName, r.suffix(5))
	pod.UID = r.uid()
	pod.ResourceVersion = Version(i)
	pod.CreationTimestamp = created
	admit(pod, r)
	startOnNode(pod, w, r)
	pod.ManagedFields = w.managers(pod, r)
	return pod
}

// admit adds what admission plugins add to every Pod: the service account token and tolerations.
func admit(pod *corev1.Pod, r random) {
	token := "kube-api-access-" + r.suffix(5)
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

// ownerOf returns the owner reference to a ReplicaSet.
func ownerOf(name string, r random) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: r.uid(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
}
