// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/store"
	"github.com/kinformer/kinformer/internal/wire"
)

// protobufPods returns the codecs of Pods for a list.
func protobufPods() *codec.Codecs {
	return codec.NewDecoders(codec.ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}, codec.Options{}).ForList()
}

// corruptField is the length of the field that undecodable appends.
const corruptField = 3

// undecodable returns the protobuf of a Pod of which only the metadata can be decoded.
func undecodable(t *testing.T, name string) feed.Item {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Labels: map[string]string{"app": name}}}
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	const spec, corrupt = 2<<3 | 2, 0xff // corruptField bytes
	return feed.Item{
		Key: "ns/" + name, UID: string(pod.UID), ResourceVersion: "7",
		Raw: append(raw, spec, 1, corrupt), Codec: protobufPods().For(&wire.Item{Format: wire.Protobuf}),
	}
}

// decodable returns the protobuf of a Pod.
func decodable(t *testing.T, name string) feed.Item {
	t.Helper()
	item := undecodable(t, name)
	item.Raw = item.Raw[:len(item.Raw)-corruptField]
	return item
}

// unpackRecorder is a Packer that records the names of the objects that it unpacks.
type unpackRecorder struct {
	*codec.Packer
	unpacked []string
}

func (r *unpackRecorder) Unpack(packed pack.Object) (any, error) {
	pod, err := r.Packer.Unpack(packed)
	if err == nil {
		r.unpacked = append(r.unpacked, pod.(*corev1.Pod).Name)
	}
	return pod, err
}

// recordingStore returns a packed store, and what it decodes on reads. To decode
// an object that is received is an error.
func recordingStore(t *testing.T, options InformerOptions[*corev1.Pod]) (*store.Store, *unpackRecorder) {
	t.Helper()
	objects, err := objectType(&corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	options.Packed = true
	indexers, err := options.Indexers.resolve(objects)
	if err != nil {
		t.Fatal(err)
	}
	config := options.spec(&ListWatch{}, objects, indexers, &reporter{}).StoreConfig(codec.Options{})
	config.Report = func(key string, err error) { t.Errorf("%s: %v", key, err) }
	config.Decode = func(item feed.Item) (any, error) { return nil, fmt.Errorf("%s is decoded", item.Key) }
	recorder := &unpackRecorder{Packer: config.Packer.(*codec.Packer)}
	config.Packer = recorder
	return store.New(config), recorder
}

// TestPackedStoreDecodesOnlyWhatIsRead checks that neither writes nor reads of keys, of indexes on
// metadata and by label decode an object.
func TestPackedStoreDecodesOnlyWhatIsRead(t *testing.T) {
	pods, recorder := recordingStore(t, InformerOptions[*corev1.Pod]{Indexers: Indexers[*corev1.Pod]{
		NamespaceIndex: ByMetadata[*corev1.Pod](MetaNamespaceIndexFunc),
		"app":          ByMetadata[*corev1.Pod](func(m Metadata) ([]string, error) { return []string{m.GetLabels()["app"]}, nil }),
	}})
	list := pods.NewFeed(store.FeedConfig{}).Begin()
	list.Add(decodable(t, "a"))
	if err := list.Commit("7"); err != nil {
		t.Fatal(err)
	}
	pods.NewFeed(store.FeedConfig{}).Apply(watch.Added, decodable(t, "b"))
	snapshot := pods.Snapshot()
	if keys := snapshot.Keys(); len(keys) != 2 {
		t.Errorf("keys %q", keys)
	}
	for index, value := range map[string]string{NamespaceIndex: "ns", "app": "b"} {
		if keys, err := snapshot.IndexKeys(index, value); err != nil || len(keys) == 0 {
			t.Errorf("index %q finds %q: %v", index, keys, err)
		}
	}
	var selected objects[*corev1.Pod]
	if snapshot.Select(func(labels map[string]string) bool { return labels["app"] == "c" }, &selected); len(selected) != 0 {
		t.Errorf("selected %v", selected)
	}
	if len(recorder.unpacked) != 0 {
		t.Errorf("decoded %q", recorder.unpacked)
	}
	if pod, ok := pods.Get("ns/a"); !ok || pod.(*corev1.Pod).Name != "a" || len(recorder.unpacked) != 1 {
		t.Errorf("Get returned %v and decoded %q", pod, recorder.unpacked)
	}
}

// TestListerDecodesOnlyMatchingObjects lists packed objects, with and without a namespace index.
// Those that match are decoded, and no others.
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
			{"app=a", "", []string{"a"}},
			{"app", "", []string{"a", "b"}},
			{"app=c", "ns", nil},
			{"app=b", "ns", []string{"b"}},
			{"app", "other", nil},
			{"", "other", nil},
			{"", "ns", []string{"a", "b"}},
		} {
			pods, recorder := recordingStore(t, options)
			pods.NewFeed(store.FeedConfig{}).Apply(watch.Added, decodable(t, "a"))
			pods.NewFeed(store.FeedConfig{}).Apply(watch.Added, decodable(t, "b"))
			lister := NewLister(Reader[*corev1.Pod]{pods, nil}, corev1.Resource("pods"))
			selector, err := labels.Parse(c.selector)
			if err != nil {
				t.Fatal(err)
			}
			if found := lister.Namespace(c.namespace).List(selector); len(found) != len(c.decoded) {
				t.Errorf("%s: %q in %q finds %v", name, c.selector, c.namespace, found)
			}
			if slices.Sort(recorder.unpacked); !slices.Equal(recorder.unpacked, c.decoded) {
				t.Errorf("%s: %q in %q decoded %q, want %q", name, c.selector, c.namespace, recorder.unpacked, c.decoded)
			}
		}
	}
}

// podItem returns a decoded Pod.
func podItem(name, version string) feed.Item {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: version}}
	return feed.Item{Key: "ns/" + name, UID: string(pod.UID), ResourceVersion: version, Object: pod}
}

// TestListKeepsLastGoodState lists an undecodable Pod that the store holds. A program that stops
// the Pods that are not in the store, such as the kubelet, must not see it deleted.
func TestListKeepsLastGoodState(t *testing.T) {
	store := NewUndeltaStore(func([]*corev1.Pod) {}, nil)
	var reported []string
	sink := newStoreSink(store, func(key string, _ error) { reported = append(reported, key) })
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
	list(undecodable(t, "a"), podItem("a", "8"))
	if a, ok := store.GetByKey("ns/a"); !ok || a.ResourceVersion != "8" || sink.Quarantined() != 0 {
		t.Errorf("stored %v, %d quarantined, want a@8 and none", a, sink.Quarantined())
	}
}

// TestRepeatedObjectKeepsNewestState lists a Pod more than once, in states of which some cannot be
// decoded (at version 7). The newest good state is stored, and the Pod is quarantined if its newest
// state is a bad one.
func TestRepeatedObjectKeepsNewestState(t *testing.T) {
	good := func(version string) func(*testing.T) feed.Item {
		return func(*testing.T) feed.Item { return podItem("a", version) }
	}
	bad := func(t *testing.T) feed.Item { t.Helper(); return undecodable(t, "a") }
	for name, row := range map[string]struct {
		list        []func(*testing.T) feed.Item
		stored      string // a version; not stored before if empty
		quarantined int
		effects     []feed.Effect
	}{
		"bad, older":        {[]func(*testing.T) feed.Item{bad, good("5")}, "5", 1, []feed.Effect{feed.LastStateKept, feed.Duplicate}},
		"older, bad":        {[]func(*testing.T) feed.Item{good("5"), bad}, "5", 1, []feed.Effect{feed.Duplicate, feed.LastStateKept}},
		"bad, newer":        {[]func(*testing.T) feed.Item{bad, good("9")}, "9", 0, []feed.Effect{feed.LastStateKept, feed.Duplicate}},
		"newer, bad":        {[]func(*testing.T) feed.Item{good("9"), bad}, "9", 0, []feed.Effect{feed.Duplicate}},
		"bad, older, newer": {[]func(*testing.T) feed.Item{bad, good("5"), good("9")}, "9", 0, []feed.Effect{feed.LastStateKept, feed.Duplicate}},
		"bad, unchanged":    {[]func(*testing.T) feed.Item{bad, good("1")}, "1", 1, []feed.Effect{feed.LastStateKept, feed.Duplicate}},
		"bad":               {[]func(*testing.T) feed.Item{bad}, "1", 1, []feed.Effect{feed.LastStateKept}},
		"new, bad twice":    {[]func(*testing.T) feed.Item{bad, bad}, "", 1, []feed.Effect{feed.Absent, feed.Duplicate, feed.Absent}},
	} {
		t.Run(name, func(t *testing.T) {
			pods := NewStore[*corev1.Pod](nil, nil)
			var effects []feed.Effect
			sink := newStoreSink(pods, func(_ string, err error) {
				var effect *feed.EffectError
				errors.As(err, &effect)
				effects = append(effects, effect.Effect)
			})
			if row.stored != "" {
				sink.Apply(watch.Added, podItem("a", "1"))
			}
			next := sink.Begin()
			for _, item := range row.list {
				next.Add(item(t))
			}
			if err := next.Commit("10"); err != nil {
				t.Fatal(err)
			}
			stored := ""
			for _, a := range pods.List() {
				stored += a.ResourceVersion
			}
			if stored != row.stored || sink.Quarantined() != row.quarantined {
				t.Errorf("stored a@%s, %d quarantined, want a@%s and %d", stored, sink.Quarantined(), row.stored, row.quarantined)
			}
			if !slices.Equal(effects, row.effects) {
				t.Errorf("reported %q, want %q", effects, row.effects)
			}
		})
	}
}

// TestUndecodableDeletionIsApplied sends deletions whose state cannot be decoded to a Reflector's
// store: of an object that it holds, of one that it could never store, and of an earlier state,
// which changes nothing.
func TestUndecodableDeletionIsApplied(t *testing.T) {
	var effects []feed.Effect
	store := NewStore[*corev1.Pod](nil, nil)
	sink := newStoreSink(store, func(_ string, err error) {
		if known, ok := errors.AsType[*feed.EffectError](err); ok {
			effects = append(effects, known.Effect)
		}
	})
	for _, event := range []struct {
		eventType watch.EventType
		item      feed.Item
		want      feed.Outcome
	}{
		{watch.Added, podItem("a", "1"), feed.Applied},
		{watch.Added, podItem("b", "9"), feed.Applied},
		{watch.Added, undecodable(t, "c"), feed.Quarantined},
		{watch.Modified, undecodable(t, "a"), feed.Quarantined},
		{watch.Deleted, undecodable(t, "a"), feed.Applied},
		{watch.Deleted, undecodable(t, "b"), feed.Stale},
		{watch.Deleted, undecodable(t, "c"), feed.Unchanged},
	} {
		if got := sink.Apply(event.eventType, event.item); got != event.want {
			t.Errorf("%s %s: outcome %v, want %v", event.eventType, event.item.Key, got, event.want)
		}
	}
	if keys := store.ListKeys(); !slices.Equal(keys, []string{"ns/b"}) || sink.Quarantined() != 0 {
		t.Errorf("stored %q, %d quarantined, want b and none", keys, sink.Quarantined())
	}
	if want := []feed.Effect{feed.Absent, feed.LastStateKept, feed.FinalStateUnknown}; !slices.Equal(effects, want) {
		t.Errorf("reported %q, want %q", effects, want)
	}
}

// TestObjectsWithoutNameAreCountedApart applies states without a readable key to the stores of an
// informer and of a Reflector.
func TestObjectsWithoutNameAreCountedApart(t *testing.T) {
	unnamed := undecodable(t, "a")
	unnamed.Key = ""
	lister := &ListWatch{}
	pods := NewSharedInformer(lister, &corev1.Pod{}, InformerOptions[*corev1.Pod]{ErrorHandler: func(context.Context, error) {}})
	pods.core.invalid = nil // for Status
	pods.core.engine.Store().NewFeed(store.FeedConfig{}).Apply(watch.Added, unnamed)
	reflected := NewReflector(lister, &corev1.Pod{}, NewStore[*corev1.Pod](nil, nil), ReflectorOptions{ErrorHandler: func(context.Context, error) {}})
	reflected.sink.Apply(watch.Added, unnamed)
	for name, status := range map[string]Status{"informer": pods.Status(), "reflector": reflected.Status()} {
		if status.Store.Unnamed != 1 || status.Store.Quarantined != 0 || len(status.Store.QuarantinedKeys) != 0 {
			t.Errorf("%s: status %+v", name, status)
		}
		status.Phase, status.Synced, status.Err = PhaseWatching, true, nil
		if err := status.unhealthy(time.Now(), HealthOptions{FailOnQuarantined: true}); !errors.Is(err, ErrNotStored) || !strings.Contains(err.Error(), "1 without a readable name") {
			t.Errorf("%s: the health check returns %v", name, err)
		}
	}
}

// damagedPacker is a Packer whose packed objects were modified since.
type damagedPacker struct{ *codec.Packer }

func (damagedPacker) Unpack(pack.Object) (any, error) { return nil, pack.ErrCorrupt }

// TestUnreadableObjectIsReported reads a packed object that cannot be unpacked. The error has
// EffectUnreadable, and the default ErrorHandler logs it.
func TestUnreadableObjectIsReported(t *testing.T) {
	objects, err := objectType(&corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var reported []error
	options := InformerOptions[*corev1.Pod]{Packed: true, ErrorHandler: func(_ context.Context, err error) { reported = append(reported, err) }}
	config := options.spec(&ListWatch{}, objects, nil, options.reflectorOptions().reporter(objects, nil)).StoreConfig(codec.Options{})
	config.Packer = damagedPacker{config.Packer.(*codec.Packer)}
	pods := store.New(config)
	pods.NewFeed(store.FeedConfig{}).Apply(watch.Added, decodable(t, "a"))
	pods.Get("ns/a")
	var object *ObjectError
	if len(reported) != 1 || !errors.As(reported[0], &object) || object.Effect != EffectUnreadable || object.Key != "ns/a" {
		t.Errorf("errors %v, want one on ns/a with effect %s", reported, EffectUnreadable)
	}
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	report := ReflectorOptions{}.reporter(objects, nil)
	report.handle(klog.NewContext(t.Context(), logger), object)
	log := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	if !strings.Contains(log, "Packed object cannot be decoded, it will be fetched again") || !strings.Contains(log, `object="ns/a"`) {
		t.Errorf("logged %q", log)
	}
}

// TestReplacementRemovesAndReplacesObjects removes an object from a list in progress, as a
// WatchList does for a deletion. With CompareContents an object of the same version is replaced.
func TestReplacementRemovesAndReplacesObjects(t *testing.T) {
	pods := NewStore[*corev1.Pod](nil, nil)
	sink := newStoreSink(pods, func(key string, err error) { t.Errorf("%s: %v", key, err) })
	a, again := podItem("a", "1"), podItem("a", "1")
	again.Object.(*corev1.Pod).Labels = map[string]string{"x": "y"}
	for _, c := range []struct {
		item    feed.Item
		compare bool
		want    feed.Item
	}{{a, false, a}, {again, false, a}, {again, true, again}} {
		next := sink.Begin()
		if c.compare {
			next.CompareContents(true)
		}
		if need, _ := next.Needs(c.item); need != feed.NeedsObject {
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
