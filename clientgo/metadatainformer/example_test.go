// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metadatainformer_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo/metadatainformer"
	"github.com/kinformer/kinformer/fake"
)

// Only the import differs from a program that uses client-go's package.
func Example() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	if err := server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}}); err != nil {
		log.Fatal(err)
	}
	config := server.Config()
	cache.EnableStreaming(config)
	factory := metadatainformer.NewSharedInformerFactory(metadata.NewForConfigOrDie(config), 0)
	pods := factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Lister()

	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	pod, err := pods.ByNamespace("default").Get("web-0")
	fmt.Println(pod.(*metav1.PartialObjectMetadata).Name, err)
	close(stop)
	factory.Shutdown()
	// Output: web-0 <nil>
}
