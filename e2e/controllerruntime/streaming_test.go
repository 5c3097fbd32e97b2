package controllerruntime

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/fake"
)

const namespace = "closures"

// The functions that controller-runtime makes for its caches, which know nothing of the tap, stream over a config that
// EnableStreaming has prepared, and give what the server sent.
func TestClosuresOfControllerRuntimeStream(t *testing.T) {
	pod := corev1.SchemeGroupVersion.WithKind("Pod")
	for name, config := range map[string]func(*testing.T) *rest.Config{"fake": fakeServer, "kube-apiserver": realServer} {
		t.Run(name, func(t *testing.T) {
			config := config(t)
			pods := fill(t, config)
			t.Run("typed", func(t *testing.T) {
				expectStreamed[*corev1.Pod](t, config, pods, &corev1.Pod{}, "application/vnd.kubernetes.protobuf")
			})
			t.Run("unstructured", func(t *testing.T) {
				example := &unstructured.Unstructured{}
				example.SetGroupVersionKind(pod)
				expectStreamed[*unstructured.Unstructured](t, config, pods, example, "application/json")
			})
			t.Run("metadata", func(t *testing.T) {
				example := &metav1.PartialObjectMetadata{}
				example.SetGroupVersionKind(pod)
				expectStreamed[*metav1.PartialObjectMetadata](t, config, pods, example, "application/vnd.kubernetes.protobuf")
			})
		})
	}
}

func fakeServer(t *testing.T) *rest.Config {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server.Config()
}

func realServer(t *testing.T) *rest.Config { return cluster.New(t, cluster.Options{}).Config() }

// pods creates and changes Pods.
type pods struct {
	client *kubernetes.Clientset
	names  []string
}

// listed is how many Pods there are before anybody lists.
const listed = 20

func fill(t *testing.T, config *rest.Config) *pods {
	t.Helper()
	p := &pods{client: kubernetes.NewForConfigOrDie(rest.CopyConfig(config))}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := p.client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range listed {
		p.create(t, fmt.Sprintf("pod-%02d", i))
	}
	return p
}

func (p *pods) create(t *testing.T, name string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "closures"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}},
	}
	if _, err := p.client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.names = append(p.names, name)
}

// object is what both libraries can hold.
type object interface {
	cache.Object
	client.Object
}

// asSent returns a metadata object as the server sends it: without the kind that controller-runtime's functions write into
// it. That is done to what they return, and so passed over by the stream; whoever needs the kind has it in the example.
func asSent(obj runtime.Object) runtime.Object {
	if metadata, ok := obj.(*metav1.PartialObjectMetadata); ok {
		obj = metadata.DeepCopy()
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj
}

// expectStreamed runs two informers with the functions that controller-runtime makes for an example, one of which may
// stream, and holds that it does and that both have and tell the same.
func expectStreamed[T object](t *testing.T, config *rest.Config, p *pods, example T, contentType string) {
	t.Helper()
	answers := &answers{}
	config = rest.CopyConfig(config)
	config.Wrap(answers.wrap) // below the tap, so that it sees what the server sent
	cache.EnableStreaming(config)
	lw, given := sourceOf(t, config, example)
	if _, ok := given.(T); !ok {
		t.Fatalf("the informer's example is %T, not %T", given, example)
	}
	streaming, classic := start(t, listWatchOf(lw, true), given.(T)), start(t, listWatchOf(lw, false), given.(T))
	streaming.has(t, p.names)
	answers.expect(t, contentType)
	classic.has(t, p.names)
	p.create(t, strings.ToLower("late-"+reflect.TypeFor[T]().Elem().Name()))
	streaming.has(t, p.names)
	classic.has(t, p.names)
	if status := streaming.controller.Status(); !status.Streaming {
		t.Errorf("it does not stream: %s", status.NotStreamingReason)
	}
	if status := classic.controller.Status(); status.Streaming {
		t.Error("it streams what it was not allowed to")
	}
	for key, want := range classic.store.Snapshot().All() {
		if got, ok := streaming.store.GetByKey(key); !ok || !reflect.DeepEqual(asSent(got), asSent(want)) {
			t.Fatalf("the stream gave\n%#v\nand controller-runtime's functions by themselves\n%#v", got, want)
		}
	}
}
