package cache

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
	"github.com/kinformer/kinformer/internal/wire"
)

// protobufPods returns the codecs of Pods.
func protobufPods() *codec.Codecs {
	return codec.NewDecoders(codec.ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}, codec.Options{}).ForList()
}

// undecodable returns the protobuf of a Pod of which only the metadata can be decoded.
func undecodable(t *testing.T, name string) feed.Item {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Labels: map[string]string{"app": name}}}
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	const spec, corrupt = 2<<3 | 2, 0xff
	return feed.Item{
		Key: "ns/" + name, UID: string(pod.UID), ResourceVersion: "7",
		Raw: append(raw, spec, 1, corrupt), Codec: protobufPods().For(&wire.Item{Format: wire.Protobuf}),
	}
}

// Keys, indexes on metadata and lists by label decode no object; a read of one that
// cannot be decoded says so and finds nothing.
func TestPackedDecodesOnlyWhatIsRead(t *testing.T) {
	var reported []string
	objects, _ := objectType(&corev1.Pod{})
	options := InformerOptions[*corev1.Pod]{Packed: true, Indexers: Indexers[*corev1.Pod]{
		NamespaceIndex: ByMetadata[*corev1.Pod](MetaNamespaceIndexFunc),
		"app":          ByMetadata[*corev1.Pod](func(m Metadata) ([]string, error) { return []string{m.GetLabels()["app"]}, nil }),
	}}
	config := options.engineConfig(objects, &reporter{}).Store
	config.Report = func(key string, _ error) { reported = append(reported, key) }
	kept := store.New(config)

	list := kept.Begin()
	list.Add(undecodable(t, "a"))
	list.Commit("7")
	kept.Apply(watch.Added, undecodable(t, "b"))
	snapshot := kept.Snapshot()
	if keys := snapshot.Keys(); len(keys) != 2 {
		t.Errorf("keys %q", keys)
	}
	for index, value := range map[string]string{NamespaceIndex: "ns", "app": "b"} {
		if keys, err := snapshot.IndexKeys(index, value); err != nil || len(keys) == 0 {
			t.Errorf("index %q finds %q: %v", index, keys, err)
		}
	}
	if pods := snapshot.Select(func(labels map[string]string) bool { return labels["app"] == "c" }); len(pods) != 0 {
		t.Errorf("selected %v", pods)
	}
	if len(reported) != 0 {
		t.Errorf("reported %q: something was decoded", reported)
	}
	if pod, ok := kept.Get("ns/a"); ok {
		t.Errorf("Get returned %v", pod)
	}
	if len(reported) != 1 || kept.Quarantined() != 1 {
		t.Errorf("reported %q, %d quarantined, want ns/a in both", reported, kept.Quarantined())
	}
}
