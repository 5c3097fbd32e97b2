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

// Clients makes round trips through unmodified clients: typed ones in JSON and protobuf, dynamic, metadata, discovery. It expects the same of every
// server, and leaves a Namespace behind.
func Clients(t *testing.T, config *rest.Config) {
	t.Helper()
	t.Run("clientset, JSON", typed(with(config, runtime.ContentTypeJSON)))
	t.Run("clientset, protobuf", typed(with(config, runtime.ContentTypeProtobuf)))
	t.Run("leases", leases(config))
	t.Run("dynamic", dynamicClient(config))
	t.Run("metadata", metadataClient(config))
	t.Run("discovery", mapper(config))
}

// with returns a configuration for a content type.
func with(config *rest.Config, contentType string) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = contentType, contentType
	return config
}

// clientset makes a typed client with a Namespace of its own.
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

// expectEvents reads a watch and requires it to tell just this, as TYPE name.
func expectEvents(t *testing.T, w watch.Interface, want ...string) {
	t.Helper()
	defer w.Stop()
	for i, wanted := range want {
		event, open := <-w.ResultChan()
		if !open {
			t.Fatalf("the watch ended before event %d, want %s", i, wanted)
		}
		obj, ok := event.Object.(metav1.Object)
		if !ok {
			t.Fatalf("event %d is %s of %+v, want %s", i, event.Type, event.Object, wanted)
		}
		if got := string(event.Type) + " " + obj.GetName(); got != wanted {
			t.Errorf("event %d is %s, want %s", i, got, wanted)
		}
	}
}
