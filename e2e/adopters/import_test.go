// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopters

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	adoptedinformers "github.com/kinformer/kinformer/clientgo/informers"
	adoptedmetadata "github.com/kinformer/kinformer/clientgo/metadatainformer"
)

// TestInformersOfMetricsServerStreamByTheImport makes the informers of metrics-server, of Nodes and
// of the metadata of running Pods, with client-go's packages and with the imports changed.
func TestInformersOfMetricsServerStreamByTheImport(t *testing.T) {
	config := startServer(t)
	client := kubernetes.NewForConfigOrDie(config)
	for i := range 20 {
		createPod(t, client, i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%02d", i), Labels: map[string]string{"zone": "a"}}}
		if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	running := func(options *metav1.ListOptions) { options.FieldSelector = "status.phase=Running" }
	metadataClient := metadata.NewForConfigOrDie(rest.CopyConfig(config))

	nodes, adoptedNodes := informers.NewSharedInformerFactory(client, 0), adoptedinformers.NewSharedInformerFactory(client, 0)
	ofPods := metadatainformer.NewFilteredSharedInformerFactory(metadataClient, 0, metav1.NamespaceAll, running)
	adoptedPods := adoptedmetadata.NewFilteredSharedInformerFactory(metadataClient, 0, metav1.NamespaceAll, running)
	for _, c := range []struct {
		before, after       factory
		reference, informer clientcache.SharedIndexInformer
		want                int
	}{
		{nodes, adoptedNodes, nodes.Core().V1().Nodes().Informer(), adoptedNodes.Core().V1().Nodes().Informer(), 20},
		{ofPods, adoptedPods, ofPods.ForResource(pods).Informer(), adoptedPods.ForResource(pods).Informer(), 10},
	} {
		start(t, c.before, c.reference)
		start(t, c.after, c.informer)
		expectAdopted(t, c.informer, true)
		expectEqual(t, c.reference.GetStore(), c.informer.GetStore())
		if n := len(c.informer.GetStore().ListKeys()); n != c.want {
			t.Errorf("%d objects, want %d", n, c.want)
		}
	}
}

// createPod creates a Pod. Every other one is running.
func createPod(t *testing.T, client kubernetes.Interface, i int) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%02d", i)}}
	pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "example.com/web:1"}}
	created, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil || i%2 == 1 {
		expectNoError(t, err)
		return
	}
	created.Status.Phase = corev1.PodRunning
	_, err = client.CoreV1().Pods(namespace).UpdateStatus(t.Context(), created, metav1.UpdateOptions{})
	expectNoError(t, err)
}

func expectNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
