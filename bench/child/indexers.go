// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// nodeIndex is the name of an index by the names of nodes.
const nodeIndex = "node"

// ByNamespace returns an index by namespace.
func ByNamespace() cache.Indexers[*corev1.Pod] {
	return cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc)}
}

func byNode() cache.Indexers[*corev1.Pod] {
	return cache.Indexers[*corev1.Pod]{nodeIndex: cache.ByField[*corev1.Pod]("spec.nodeName")}
}

// ByNamespaceAndNode returns an index by namespace, and one by the field with the node's name.
func ByNamespaceAndNode() cache.Indexers[*corev1.Pod] {
	both := ByNamespace()
	maps.Copy(both, byNode())
	return both
}

// ClientGoByNode returns what client-go's informers have beside an index by namespace.
func ClientGoByNode() clientcache.Indexers {
	return clientcache.Indexers{nodeIndex: func(obj any) ([]string, error) {
		return []string{obj.(*corev1.Pod).Spec.NodeName}, nil
	}}
}
