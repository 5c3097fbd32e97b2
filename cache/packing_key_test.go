package cache

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/internal/wire"
)

// The keys of packed objects, which are kept, keep nothing besides: what is cut from a
// stream has its key, UID and version in one string.
func TestKeysOfPackedObjectsAreAlone(t *testing.T) {
	const n = 10_000
	k, err := kindOf(&corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	k.packed = true
	source := streamSource{classic: classicSource{kind: k}, sharing: newSharing(k)}
	codecs, keys := source.codecs(false), make([]string, n)
	before := heapInUse()
	for i := range keys {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprintf("pod-%05d", i), UID: types.UID("8b0c3c1e-5f0a-4a3e-9d7e-0123456789ab"), ResourceVersion: "1000000000",
		}}
		raw, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		cut, err := wire.Parse(raw, wire.Protobuf)
		if err != nil {
			t.Fatal(err)
		}
		item, err := feedItem(&cut, codecs)
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = item.Key
	}
	if each := (heapInUse() - before) / n; each > 24 {
		t.Errorf("a key of %d bytes keeps %d", len(keys[0]), each)
	}
	runtime.KeepAlive(keys)
}
