// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dynamicinformer_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/clientgo/dynamicinformer"
)

// Only the import differs from a program that uses client-go's package.
func Example() {
	client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}})
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	pods := factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Lister()

	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	list, err := pods.ByNamespace("default").List(labels.Everything())
	fmt.Println(len(list), err)
	close(stop)
	factory.Shutdown()
	// Output: 1 <nil>
}
