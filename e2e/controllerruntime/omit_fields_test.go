// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// TestOmittedSpecNeedsNeverWritten leaves a field of the spec out of cached objects. Without
// NeverWritten, that is an error which names the field and the option. With it, nothing intercepts
// an Update of a cached object, which erases the field at the server.
func TestOmittedSpecNeedsNeverWritten(t *testing.T) {
	for _, neverWritten := range []bool{false, true} {
		config := fakeServer(t)
		server, err := client.New(config, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		web := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web", Args: []string{"-v"}}}},
		}
		if err := server.Create(t.Context(), web); err != nil {
			t.Fatal(err)
		}
		options := clientgo.Options{OmitFields: []string{"spec.containers.args"}, NeverWritten: neverWritten}
		cached, err := ctrlcache.New(config, ctrlcache.Options{NewInformer: options.NewInformer})
		if err != nil {
			t.Fatal(err)
		}
		informer, err := cached.GetInformer(t.Context(), &corev1.Pod{}, ctrlcache.BlockUntilSynced(false))
		if err != nil {
			t.Fatal(err)
		}
		if !neverWritten {
			status := clientgo.StatusOf(informer)
			if text := status.Err.Error(); status.Phase != cache.PhaseInvalid || !strings.Contains(text, "spec.containers.args") || !strings.Contains(text, "NeverWritten") {
				t.Errorf("phase %v: %v", status.Phase, status.Err)
			}
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stopped := make(chan error, 1)
		go func() { stopped <- cached.Start(ctx) }()
		if !cached.WaitForCacheSync(ctx) {
			t.Fatal("the cache has not synced")
		}
		var pod corev1.Pod
		if err := cached.Get(ctx, client.ObjectKeyFromObject(web), &pod); err != nil || pod.Spec.Containers[0].Args != nil {
			t.Fatalf("the cache has %v, %v", pod.Spec.Containers, err)
		}
		pod.Labels = map[string]string{"changed": "yes"}
		if err := server.Update(ctx, &pod); err != nil || pod.Spec.Containers[0].Args != nil || pod.Labels["changed"] != "yes" {
			t.Errorf("the server has %v, %v", pod, err)
		}
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}
