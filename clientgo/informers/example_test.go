// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informers_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/clientgo/informers"
)

// Only the import differs from a program that uses client-go's package.
func Example() {
	client := clientset.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	pods := factory.Core().V1().Pods().Lister()

	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		log.Fatal(err)
	}
	pod, err := pods.Pods("default").Get("web-0")
	fmt.Println(pod.Name, err)
	cancel()
	factory.Shutdown()
	// Output: web-0 <nil>
}
