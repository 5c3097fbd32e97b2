package cache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// undecodable returns the protobuf of a Pod of which nothing but the metadata can be
// decoded: whoever gets by without an error has decoded no more.
func undecodable(t *testing.T, name string) feed.Item {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Labels: map[string]string{"app": name}}}
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	k, err := kindOf(pod)
	if err != nil {
		t.Fatal(err)
	}
	const spec, corrupt = 2<<3 | 2, 0xff
	return feed.Item{
		Key: "ns/" + name, UID: string(pod.UID), ResourceVersion: "7",
		Raw: append(raw, spec, 1, corrupt), Codec: protobufCodec{k.goType, newSharing(k)},
	}
}

// Keys, indexes on metadata and lists by label decode no object; a read of one that
// cannot be decoded says so and finds nothing.
func TestPackedDecodesOnlyWhatIsRead(t *testing.T) {
	var reported []string
	k, _ := kindOf(&corev1.Pod{})
	options := InformerOptions[*corev1.Pod]{Packed: true, MetadataIndexers: MetadataIndexers{
		NamespaceIndex: IndexByNamespace,
		"app":          func(m Metadata) ([]string, error) { return []string{m.GetLabels()["app"]}, nil },
	}}
	config := options.engine(k, &reporter{}).Store
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
