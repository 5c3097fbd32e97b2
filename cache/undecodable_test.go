package cache

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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

// A Lister of packed objects decodes what it returns and nothing else: of objects that
// cannot be decoded it reports exactly those that it ought to have found, by an index of
// namespaces wherever that is declared, and without one.
func TestListerDecodesOnlyWhatMatches(t *testing.T) {
	for name, options := range map[string]InformerOptions[*corev1.Pod]{
		"index on metadata": {Indexers: Indexers[*corev1.Pod]{NamespaceIndex: ByMetadata[*corev1.Pod](MetaNamespaceIndexFunc)}},
		"no index":          {},
	} {
		for _, c := range []struct {
			selector, namespace string
			tried               []string
		}{
			{"app=c", "", nil},
			{"app=a", "", []string{"ns/a"}},
			{"app", "", []string{"ns/a", "ns/b"}},
			{"app=c", "ns", nil},
			{"app=b", "ns", []string{"ns/b"}},
			{"app", "other", nil},
			{"", "other", nil},
			{"", "ns", []string{"ns/a", "ns/b"}},
		} {
			var reported []string
			lister := undecodableLister(t, options, func(key string) { reported = append(reported, key) })
			selector, err := labels.Parse(c.selector)
			if err != nil {
				t.Fatal(err)
			}
			if pods := lister.Namespace(c.namespace).List(selector); len(pods) != 0 {
				t.Errorf("%s: %q in %q finds %v", name, c.selector, c.namespace, pods)
			}
			if slices.Sort(reported); !slices.Equal(reported, c.tried) {
				t.Errorf("%s: %q in %q has decoded %q, want %q", name, c.selector, c.namespace, reported, c.tried)
			}
		}
	}
}

// undecodableLister returns a Lister of Pods a and b in namespace ns, packed.
func undecodableLister(t *testing.T, options InformerOptions[*corev1.Pod], report func(key string)) Lister[*corev1.Pod] {
	t.Helper()
	options.Packed = true
	objects, err := objectType(&corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	config := options.engineConfig(objects, &reporter{}).Store
	config.Report = func(key string, _ error) { report(key) }
	kept := store.New(config)
	kept.Apply(watch.Added, undecodable(t, "a"))
	kept.Apply(watch.Added, undecodable(t, "b"))
	return NewLister(reader[*corev1.Pod]{kept, config.Key}, corev1.Resource("pods"))
}

func podItem(name, version string) feed.Item {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid", ResourceVersion: version}}
	return feed.Item{Key: "ns/" + name, UID: "uid", ResourceVersion: version, Object: pod}
}

// A list with an object that cannot be decoded does not take away what the store has of
// it: whoever synchronises Pods would end one that is there.
func TestListKeepsTheLastGoodState(t *testing.T) {
	store := NewUndeltaStore(func([]*corev1.Pod) {}, nil)
	var reported []string
	sink := &storeSink[*corev1.Pod]{store: store, report: func(key string, _ error) { reported = append(reported, key) }}
	list := func(items ...feed.Item) {
		t.Helper()
		next := sink.Begin()
		for _, item := range items {
			next.Add(item)
		}
		if err := next.Commit("9"); err != nil {
			t.Fatal(err)
		}
	}
	list(podItem("a", "1"), podItem("b", "2"))
	list(undecodable(t, "a"), undecodable(t, "c"))
	if a, ok := store.GetByKey("ns/a"); !ok || a.ResourceVersion != "1" || store.Len() != 1 {
		t.Errorf("the store holds %v, want a@1", store.ListKeys())
	}
	if len(reported) != 2 || sink.Quarantined() != 2 {
		t.Errorf("%q were reported, %d wait for another state", reported, sink.Quarantined())
	}
	list(undecodable(t, "a"), podItem("a", "3"))
	if a, ok := store.GetByKey("ns/a"); !ok || a.ResourceVersion != "3" || sink.Quarantined() != 0 {
		t.Errorf("the store holds %v; %d wait for another state", a, sink.Quarantined())
	}
}
