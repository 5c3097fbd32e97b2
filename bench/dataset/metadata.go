// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PackPodMetadata packs the metadata of the first n Pods of a set, as an API server sends it to
// metadata clients.
func PackPodMetadata(perWorkload PodsPerWorkload, n int) (*Packed, error) {
	pods := NewPods(perWorkload, 1)
	return packAll(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"), false, n, func(i int) (metav1.Object, []byte, error) {
		return encoded(&metav1.PartialObjectMetadata{ObjectMeta: pods.Pod(i).ObjectMeta})
	})
}
