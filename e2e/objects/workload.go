// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Workload is the common shape of a ReplicaSet's Pods. Workloads differ in their number of
// containers (1-4), environment (0-30 variables per container), volumes (1-8), probes, labels,
// annotations and affinities.
type Workload struct {
	// Name is the name of the ReplicaSet, with which the Pods' names begin.
	Name      string
	namespace string
	seed      uint64
	number    int
	template  corev1.PodTemplateSpec
	owner     metav1.OwnerReference
}

// NewWorkload returns the workload with a number in a namespace.
func NewWorkload(seed uint64, number int, namespace string) *Workload {
	d := newDraw(seed, number)
	app := fmt.Sprintf("%s-%s", pick(d, "checkout", "search", "billing", "ledger", "gateway", "profile", "mailer", "catalog"), d.suffix(4))
	hash := d.suffix(10)
	w := &Workload{Name: app + "-" + hash, namespace: namespace, seed: seed, number: number}
	w.template = template(d, app, hash)
	w.owner = metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: w.Name, UID: types.UID(d.uid()),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
	return w
}

// Pod returns the replica with a number as the ReplicaSet controller would create it, but with a
// fixed name.
func (w *Workload) Pod(replica int) *corev1.Pod {
	d := newDraw(w.seed^uint64(w.number+1)<<20, replica)
	template := w.template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name = fmt.Sprintf("%s-%s%d", w.Name, d.suffix(5), replica)
	pod.Namespace = w.namespace
	pod.GenerateName = w.Name + "-"
	pod.OwnerReferences = []metav1.OwnerReference{w.owner}
	return pod
}

func template(d draw, app, hash string) corev1.PodTemplateSpec {
	labels := map[string]string{
		"app.kubernetes.io/name":       app,
		"app.kubernetes.io/instance":   app + "-" + pick(d, "eu", "us", "ap"),
		"app.kubernetes.io/managed-by": "Helm",
		"pod-template-hash":            hash,
		"team":                         pick(d, "payments", "storefront", "platform", "data"),
	}
	annotations := map[string]string{
		"prometheus.io/scrape": "true",
		"prometheus.io/port":   fmt.Sprint(d.between(8000, 9999)),
		"checksum/config":      d.hex(64),
	}
	for i := range d.between(0, 3) {
		labels[fmt.Sprintf("example.com/feature-%d", i)] = d.suffix(d.between(4, 16))
		annotations[fmt.Sprintf("example.com/note-%d", i)] = d.hex(d.between(8, 80))
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
		Spec:       podSpec(d, app),
	}
}
