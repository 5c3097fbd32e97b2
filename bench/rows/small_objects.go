// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The rows about the store use minimal objects, since the store reads only their metadata. Each
// object has a UID, and a new resourceVersion in each state.

// firstVersion is the resourceVersion of the initial objects.
const firstVersion = 1_000_000

// metaOf returns the metadata of the i-th object.
func metaOf(i int, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:       namespace,
		Name:            fmt.Sprintf("deployment-%05d-%08x", i/20, uint32(i)*2654435761),
		UID:             types.UID(fmt.Sprintf("4b6f1f3c-8f0e-4d0a-9a53-%012x", i)),
		ResourceVersion: strconv.Itoa(firstVersion),
	}
}

// namespaceOf returns the i-th object's namespace. There are 400 objects in each.
func namespaceOf(i int) string { return fmt.Sprintf("namespace-%04d", i/400) }

// smallPods returns n Pods of one namespace.
func smallPods(n int, namespace string) []corev1.Pod {
	pods := make([]corev1.Pod, n)
	for i := range pods {
		pods[i].ObjectMeta = metaOf(i, namespace)
	}
	return pods
}

// smallObjects returns n objects that consist of metadata.
func smallObjects(n int) []*metav1.PartialObjectMetadata {
	objects := make([]*metav1.PartialObjectMetadata, n)
	for i := range objects {
		objects[i] = &metav1.PartialObjectMetadata{ObjectMeta: metaOf(i, namespaceOf(i))}
	}
	return objects
}

// updates returns n new states of the Pods, with increasing versions.
func updates(pods []corev1.Pod, n int) []*corev1.Pod {
	states := make([]*corev1.Pod, n)
	for i := range states {
		states[i] = nextPod(pods, i)
	}
	return states
}

// nextPod returns the i-th new state, which is one of a random Pod.
func nextPod(pods []corev1.Pod, i int) *corev1.Pod {
	pod := pods[scatter(i, len(pods))]
	pod.ResourceVersion = strconv.Itoa(firstVersion + 1 + i)
	return &pod
}

// withVersion returns a shallow copy of an object with another resourceVersion.
func withVersion(object *metav1.PartialObjectMetadata, version int) *metav1.PartialObjectMetadata {
	next := *object
	next.ResourceVersion = strconv.Itoa(version)
	return &next
}

// keysOf returns the objects' keys as new strings, since readers seldom have the very string that
// the store has.
func keysOf(objects []*metav1.PartialObjectMetadata) []string {
	keys := make([]string, len(objects))
	for i, object := range objects {
		keys[i] = object.Namespace + "/" + object.Name
	}
	return keys
}

// scatter returns the i-th index of a walk through n objects whose order the processor's caches
// cannot predict.
func scatter(i, n int) int { return int(uint64(i) * 11400714819323198485 >> 20 % uint64(n)) }
