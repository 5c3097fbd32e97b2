// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// RunClients runs subtests that make round trips through unmodified clients: typed clients in JSON
// and protobuf, dynamic, metadata and discovery clients. It expects the same results from every
// server. It does not delete the Namespaces that it creates.
func RunClients(t *testing.T, config *rest.Config) {
	t.Helper()
	t.Run("clientset, JSON", testTypedClient(withContentType(config, runtime.ContentTypeJSON)))
	t.Run("clientset, protobuf", testTypedClient(withContentType(config, runtime.ContentTypeProtobuf)))
	t.Run("leases", testLeases(config))
	t.Run("dynamic", testDynamicClient(config))
	t.Run("metadata", testMetadataClient(config))
	t.Run("discovery", testRESTMapper(config))
}

// withContentType returns a copy of config with a content type.
func withContentType(config *rest.Config, contentType string) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = contentType, contentType
	return config
}

// clientset returns a typed client and the name of a new Namespace.
func clientset(t *testing.T, config *rest.Config) (*kubernetes.Clientset, string) {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(config)
	must(t, err)
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(config, httpClient)
	must(t, err)
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "clients-"}}, metav1.CreateOptions{})
	must(t, err)
	return client, namespace.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "x"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

// expectEvents receives len(want) events from a watch and requires them to equal want, as "TYPE
// name".
func expectEvents(t *testing.T, w watch.Interface, want ...string) {
	t.Helper()
	defer w.Stop()
	for i, want := range want {
		event, open := <-w.ResultChan()
		if !open {
			t.Fatalf("watch ended before event %d, want %s", i, want)
		}
		obj, ok := event.Object.(metav1.Object)
		if !ok {
			t.Fatalf("event %d is %s of %+v, want %s", i, event.Type, event.Object, want)
		}
		if got := string(event.Type) + " " + obj.GetName(); got != want {
			t.Errorf("event %d is %s, want %s", i, got, want)
		}
	}
}
