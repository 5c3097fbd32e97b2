// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

type podFields struct {
	Spec struct {
		NodeName   string `json:"nodeName"`
		Containers []struct {
			Name  string `json:"name"`
			Image string `json:"image"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase     corev1.PodPhase `json:"phase"`
		PodIP     string          `json:"podIP"`
		StartTime *metav1.Time    `json:"startTime"`
	} `json:"status"`
}

type partialPod = cache.PartialObject[*corev1.Pod, podFields]

// TestPartialObjectHasTheFields reads a Pod from the stream and as decoded by the client, live and
// packed.
func TestPartialObjectHasTheFields(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "node", Hostname: "not wanted", Containers: []corev1.Container{{Name: "main", Image: "web:1", WorkingDir: "/"}}},
	}
	written, err := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Pods("ns").Create(t.Context(), pod, metav1.CreateOptions{FieldManager: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, streaming := range []bool{false, true} {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("streaming=%v,packed=%v", streaming, packed), func(t *testing.T) {
				config := server.Config()
				if streaming {
					cache.EnableStreaming(config)
				}
				client := kubernetes.NewForConfigOrDie(config)
				pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &partialPod{}, cache.InformerOptions[*partialPod]{Packed: packed})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go pods.Run(ctx)
				if err := cache.WaitForAPIObject(ctx, pods, written); err != nil {
					t.Fatal(err)
				}
				got, _ := pods.Store().GetByKey("ns/a")
				want := &partialPod{ObjectMeta: written.ObjectMeta}
				want.ManagedFields = nil
				want.Fields.Spec.NodeName, want.Fields.Status.Phase = "node", corev1.PodPending
				want.Fields.Spec.Containers = append(want.Fields.Spec.Containers, struct {
					Name  string `json:"name"`
					Image string `json:"image"`
				}{"main", "web:1"})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}
