// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PackNamespaces packs n namespaces. 120 of them have all Pods of a set of 20,000.
func PackNamespaces(n int) (*Packed, error) {
	return packAll(corev1.SchemeGroupVersion.WithKind("Namespace"), false, n, func(i int) (metav1.Object, []byte, error) {
		return encoded(newNamespace(newRandom(1, streamNamespace, i), i))
	})
}

// newNamespace returns the i-th namespace.
func newNamespace(r random, i int) *corev1.Namespace {
	prefixes := namespacePrefixes()
	name := fmt.Sprintf("%s-%03d", prefixes[i%len(prefixes)], i/len(prefixes))
	namespace := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: r.uid(), ResourceVersion: Version(i), CreationTimestamp: r.moment(60),
			Labels: map[string]string{corev1.LabelMetadataName: name, "team": r.team()},
		},
		Spec:   corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
	namespace.ManagedFields = []metav1.ManagedFieldsEntry{
		managerEntry("helm", "", fieldsV1(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: namespace.Labels}}, "metadata"), namespace.CreationTimestamp),
	}
	return namespace
}
