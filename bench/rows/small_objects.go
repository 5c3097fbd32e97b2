package rows

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The store does not look into objects, so those of its rows are as small as they
// can be. They have what an API server gives every object: a UID, and a
// resourceVersion that is new in each state.

// firstVersion is the resourceVersion of what is there at the beginning.
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

// namespaceOf spreads objects over namespaces of 400.
func namespaceOf(i int) string { return fmt.Sprintf("namespace-%04d", i/400) }

// smallPods returns n Pods of one namespace.
func smallPods(n int, namespace string) []corev1.Pod {
	pods := make([]corev1.Pod, n)
	for i := range pods {
		pods[i].ObjectMeta = metaOf(i, namespace)
	}
	return pods
}

// smallObjects returns n objects that are nothing but metadata.
func smallObjects(n int) []*metav1.PartialObjectMetadata {
	objects := make([]*metav1.PartialObjectMetadata, n)
	for i := range objects {
		objects[i] = &metav1.PartialObjectMetadata{ObjectMeta: metaOf(i, namespaceOf(i))}
	}
	return objects
}

// nextState returns a copy of an object at a later version. What is inside is
// shared, as nobody writes to it.
func nextState(object *metav1.PartialObjectMetadata, version int) *metav1.PartialObjectMetadata {
	next := *object
	next.ResourceVersion = strconv.Itoa(version)
	return &next
}

// keysOf returns the objects' keys, with bytes of their own: who asks for a key
// seldom has the very string that the store has.
func keysOf(objects []*metav1.PartialObjectMetadata) []string {
	keys := make([]string, len(objects))
	for i, object := range objects {
		keys[i] = object.Namespace + "/" + object.Name
	}
	return keys
}

// scatter walks through n places in an order that the processor's caches cannot
// foresee.
func scatter(i, n int) int { return int(uint64(i) * 11400714819323198485 >> 20 % uint64(n)) }
