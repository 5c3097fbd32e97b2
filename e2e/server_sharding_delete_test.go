// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestServerDeletesCollectionByShardSelector checks that a server with the feature gate deletes the
// selected objects alone, and that one without it ignores the selector and deletes all.
func TestServerDeletesCollectionByShardSelector(t *testing.T) {
	t.Parallel()
	servers := sharedShardServers(t)
	for name, server := range map[string]*rest.Config{"gate on": servers.on, "gate off": servers.off} {
		clientset := kubernetes.NewForConfigOrDie(server)
		configMaps := clientset.CoreV1().ConfigMaps(namespace(t, clientset))
		upper := 0
		for n := range 20 {
			created, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", n)}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !inLowerHalf(created.UID) {
				upper++
			}
		}
		options := metav1.ListOptions{ShardSelector: lowerHalf}
		if err := configMaps.DeleteCollection(t.Context(), metav1.DeleteOptions{}, options); err != nil {
			t.Fatal(err)
		}
		list, err := configMaps.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"gate on": upper, "gate off": 0}[name]
		if len(list.Items) != want {
			t.Errorf("%s: %d of 20 ConfigMaps are left, want %d", name, len(list.Items), want)
		}
	}
}
