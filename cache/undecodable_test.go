package cache

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
	"github.com/kinformer/kinformer/internal/wire"
)

// protobufPods returns the codecs of Pods for a list.
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

// TestPackedStoreDecodesOnReadOnly checks that reads of keys, of indexes on metadata and by label
// decode no object. A read of an undecodable object reports it and returns nothing.
func TestPackedStoreDecodesOnReadOnly(t *testing.T) {
	var reported []string
	objects, _ := objectType(&corev1.Pod{})
	options := InformerOptions[*corev1.Pod]{Packed: true, Indexers: Indexers[*corev1.Pod]{
		NamespaceIndex: ByMetadata[*corev1.Pod](MetaNamespaceIndexFunc),
		"app":          ByMetadata[*corev1.Pod](func(m Metadata) ([]string, error) { return []string{m.GetLabels()["app"]}, nil }),
	}}
	config := options.engineConfig(objects, &reporter{}).Store
	config.Report = func(key string, _ error) { reported = append(reported, key) }
	pods := store.New(config)

	list := pods.Begin()
	list.Add(undecodable(t, "a"))
	list.Commit("7")
	pods.Apply(watch.Added, undecodable(t, "b"))
	snapshot := pods.Snapshot()
	if keys := snapshot.Keys(); len(keys) != 2 {
		t.Errorf("keys %q", keys)
	}
	for index, value := range map[string]string{NamespaceIndex: "ns", "app": "b"} {
		if keys, err := snapshot.IndexKeys(index, value); err != nil || len(keys) == 0 {
			t.Errorf("index %q finds %q: %v", index, keys, err)
		}
	}
	if selected := snapshot.Select(func(labels map[string]string) bool { return labels["app"] == "c" }); len(selected) != 0 {
		t.Errorf("selected %v", selected)
	}
	if len(reported) != 0 {
		t.Errorf("reported %q: objects were decoded", reported)
	}
	if pod, ok := pods.Get("ns/a"); ok {
		t.Errorf("Get returned %v", pod)
	}
	if len(reported) != 1 || pods.Quarantined() != 1 {
		t.Errorf("reported %q, %d quarantined, want ns/a in both", reported, pods.Quarantined())
	}
}

// TestListerDecodesOnlyMatchingObjects lists packed objects that cannot be decoded, with and
// without a namespace index. Each that matches is reported, and no other.
func TestListerDecodesOnlyMatchingObjects(t *testing.T) {
	for name, options := range map[string]InformerOptions[*corev1.Pod]{
		"index on metadata": {Indexers: Indexers[*corev1.Pod]{NamespaceIndex: ByMetadata[*corev1.Pod](MetaNamespaceIndexFunc)}},
		"no index":          {},
	} {
		for _, c := range []struct {
			selector, namespace string
			decoded             []string
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
			if slices.Sort(reported); !slices.Equal(reported, c.decoded) {
				t.Errorf("%s: %q in %q decoded %q, want %q", name, c.selector, c.namespace, reported, c.decoded)
			}
		}
	}
}

// undecodableLister returns a Lister of the packed, undecodable Pods a and b in namespace ns.
func undecodableLister(t *testing.T, options InformerOptions[*corev1.Pod], report func(key string)) Lister[*corev1.Pod] {
	t.Helper()
	options.Packed = true
	objects, err := objectType(&corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	config := options.engineConfig(objects, &reporter{}).Store
	config.Report = func(key string, _ error) { report(key) }
	pods := store.New(config)
	pods.Apply(watch.Added, undecodable(t, "a"))
	pods.Apply(watch.Added, undecodable(t, "b"))
	return NewLister(reader[*corev1.Pod]{pods, config.Key}, corev1.Resource("pods"))
}

// podItem returns a decoded Pod.
func podItem(name, version string) feed.Item {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid", ResourceVersion: version}}
	return feed.Item{Key: "ns/" + name, UID: "uid", ResourceVersion: version, Object: pod}
}

// TestListKeepsLastGoodState lists an undecodable Pod that the store holds. A program that stops
// the Pods that are not in the store, such as the kubelet, must not see it deleted.
func TestListKeepsLastGoodState(t *testing.T) {
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
		t.Errorf("stored %v, want a@1", store.ListKeys())
	}
	if len(reported) != 2 || sink.Quarantined() != 2 {
		t.Errorf("reported %q, %d quarantined, want 2", reported, sink.Quarantined())
	}
	list(undecodable(t, "a"), podItem("a", "3"))
	if a, ok := store.GetByKey("ns/a"); !ok || a.ResourceVersion != "3" || sink.Quarantined() != 0 {
		t.Errorf("stored %v, %d quarantined, want a@3 and none", a, sink.Quarantined())
	}
}

// TestUnreadableObjectIsReported reads a packed object that cannot be decoded. The error has
// EffectUnreadable, and the default ErrorHandler logs it.
func TestUnreadableObjectIsReported(t *testing.T) {
	objects, err := objectType(&corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	read := func(options InformerOptions[*corev1.Pod]) {
		options.Packed = true
		pods := store.New(options.engineConfig(objects, newReporter(options.reflectorOptions(), objects)).Store)
		pods.Apply(watch.Added, undecodable(t, "a"))
		pods.Get("ns/a")
	}
	var reported []error
	read(InformerOptions[*corev1.Pod]{ErrorHandler: func(_ context.Context, err error) { reported = append(reported, err) }})
	var object *ObjectError
	if len(reported) != 1 || !errors.As(reported[0], &object) || object.Effect != EffectUnreadable || object.Key != "ns/a" {
		t.Errorf("errors %v, want one on ns/a with effect %s", reported, EffectUnreadable)
	}
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	report := newReporter(ReflectorOptions{}, objects)
	report.handle(klog.NewContext(t.Context(), logger), object)
	log := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	if !strings.Contains(log, "Packed object cannot be decoded, it will be fetched again") || !strings.Contains(log, `object="ns/a"`) {
		t.Errorf("logged %q", log)
	}
}

// TestReplacementRemovesAndReplacesObjects removes an object from a list in progress, as a WatchList
// does for a deletion. With CompareContents an object of the same version is replaced.
func TestReplacementRemovesAndReplacesObjects(t *testing.T) {
	pods := NewStore[*corev1.Pod](nil, nil)
	sink := &storeSink[*corev1.Pod]{store: pods, report: func(key string, err error) { t.Errorf("%s: %v", key, err) }}
	a, again := podItem("a", "1"), podItem("a", "1")
	for _, c := range []struct {
		item    feed.Item
		compare bool
		want    feed.Item
	}{{a, false, a}, {again, false, a}, {again, true, again}} {
		next := sink.Begin()
		if c.compare {
			next.CompareContents()
		}
		if need := next.Needs(c.item); need != feed.NeedsObject {
			t.Errorf("Needs returned %v", need)
		}
		next.Add(podItem("b", "2"))
		next.Add(c.item)
		next.Remove(podItem("b", "3"))
		if err := next.Commit("9"); err != nil {
			t.Fatal(err)
		}
		if stored, ok := pods.GetByKey("ns/a"); !ok || Object(stored) != c.want.Object || pods.Len() != 1 {
			t.Errorf("stored %v, compare contents %v", pods.ListKeys(), c.compare)
		}
	}
}
