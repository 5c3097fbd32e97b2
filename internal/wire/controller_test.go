package wire_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/kinformer/internal/wire"
)

func ownedPod(deleting bool, owners ...metav1.OwnerReference) *corev1.Pod {
	pod := newPod(1)
	pod.OwnerReferences = owners
	if deleting {
		now := metav1.Unix(1_700_000_000, 0)
		pod.DeletionTimestamp = &now
	}
	return pod
}

func owner(uid types.UID, controller *bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "set", UID: uid, Controller: controller}
}

func lineageOf(t testing.TB, raw []byte, format wire.Format) (wire.Lineage, error) {
	t.Helper()
	item, err := wire.Parse(raw, format)
	if err != nil {
		t.Fatal(err)
	}
	return item.Lineage()
}

// want is what apimachinery makes of an object.
func wantLineage(object metav1.Object) wire.Lineage {
	lineage := wire.Lineage{Deleting: object.GetDeletionTimestamp() != nil}
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		lineage.Controller = string(controller.UID)
	}
	return lineage
}

func lineagePods() map[string]*corev1.Pod {
	return map[string]*corev1.Pod{
		"no owner":       ownedPod(false),
		"deleting":       ownedPod(true),
		"a controller":   ownedPod(true, owner("u-1", new(true))),
		"no controller":  ownedPod(false, owner("u-1", nil), owner("u-2", new(false))),
		"the first":      ownedPod(false, owner("u-1", nil), owner("u-2", new(true)), owner("u-3", new(true))),
		"without a UID":  ownedPod(false, owner("", new(true)), owner("u-3", new(true))),
		"to be escaped":  ownedPod(false, owner("\"\\<ä\u2028", new(true))),
		"a trailing \\":  ownedPod(false, owner("\\", new(true))),
		"brackets in it": ownedPod(true, owner("]}[{,:", new(true))),
	}
}

func TestLineage(t *testing.T) {
	for name, pod := range lineagePods() {
		for _, format := range formats {
			t.Run(name+"/"+format.String(), func(t *testing.T) {
				got, err := lineageOf(t, rawOf(t, format, pod), format)
				if want := wantLineage(pod); err != nil || got != want {
					t.Errorf("%+v, %v; want %+v", got, err, want)
				}
			})
		}
	}
}

func TestLineageOfUnusualJSON(t *testing.T) {
	for text, want := range map[string]wire.Lineage{
		`{}`:                {},
		`{"metadata":null}`: {},
		`{"metadata":{"deletionTimestamp":null,"ownerReferences":null}}`:                                                                       {},
		`{"metadata":{"ownerReferences":[]}}`:                                                                                                  {},
		`{"metadata":{"ownerReferences":[{}, null, 3 ,[1],{"controller":true,"uid":5}]}}`:                                                      {},
		`{ "metadata" : { "x" : -1.5e+3 , "deletionTimestamp" : "now" , "ownerReferences" : [ { "uid" : "u" , "controller" : true } ] } }`:     {Controller: "u", Deleting: true},
		`{"m\u0065tadata":{"ownerR\u0065ferences":[{"\u0075id":"\u0075","controller":true}]}}`:                                                 {Controller: "u"},
		`{"metadata":{"x":{"ownerReferences":[{"uid":"no","controller":true}],"deletionTimestamp":"no"},"y":"\"ownerReferences\":"}}`:          {},
		`{"spec":{"metadata":{"deletionTimestamp":"no"}},"deletionTimestamp":"no"}`:                                                            {},
		`{"metadata":{"ownerReferences":[{"uid":"a","controller":true}],"ownerReferences":[{"controller":true,"controller":null,"uid":"b"}]}}`: {Controller: "b"},
	} {
		if got, err := lineageOf(t, []byte(text), wire.JSON); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestLineageOfAnEvent(t *testing.T) {
	pod := ownedPod(true, owner("u-1", new(true)))
	for _, format := range formats {
		body := encodeEvent(t, format, "MODIFIED", pod)
		err := wire.Watch(strings.NewReader(string(body)), format, wire.Options{}, func(event *wire.Event) error {
			if got, err := event.Object.Lineage(); err != nil || got != wantLineage(pod) {
				t.Errorf("%v: %+v, %v", format, got, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestLineageOfABrokenMessage(t *testing.T) {
	for what, raw := range map[string]string{
		"cut short":           bytesField(1, bytesField(13, "x"))[:3],
		"a wrong controller":  bytesField(1, bytesField(13, bytesField(6, "yes"))),
		"an endless varint":   bytesField(1, bytesField(13, "\x30"+strings.Repeat("\xff", 11))),
		"a wrong deletion":    bytesField(1, "\x48\x01"),
		"a wrong owner's UID": bytesField(1, bytesField(13, "\x20\x01")),
	} {
		if got, err := lineageOf(t, []byte(raw), wire.Protobuf); err == nil || got != (wire.Lineage{}) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// FuzzLineage compares with what apimachinery's decoders make of the same bytes.
func FuzzLineage(f *testing.F) {
	for _, pod := range lineagePods() {
		for _, format := range formats {
			f.Add(rawOf(f, format, pod), format == wire.JSON)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, isJSON bool) {
		format := wire.Protobuf
		if isJSON {
			format = wire.JSON
		}
		item, err := wire.Parse(raw, format)
		if err != nil {
			return
		}
		got, err := item.Lineage()
		var want metav1.PartialObjectMetadata
		switch {
		case !isJSON && want.Unmarshal(raw) != nil, isJSON && (json.Unmarshal(raw, &want) != nil || unusual(string(raw))):
			return // it had only not to panic
		}
		if err != nil || got != wantLineage(&want) {
			t.Fatalf("%+v, %v; want %+v", got, err, wantLineage(&want))
		}
	})
}

// unusual tells whether a member of interest may be there twice, or not be what
// it looks like: there the decoders merge.
func unusual(text string) bool {
	for _, name := range []string{"metadata", "ownerReferences", "controller", "uid"} {
		if strings.Count(text, `"`+name+`"`) > 1 {
			return true
		}
	}
	return strings.Contains(text, `\`) || strings.Count(text, `"deletionTimestamp"`) > 1 || strings.Contains(text, `:""`)
}

func BenchmarkLineage(b *testing.B) {
	pod := ownedPod(false, owner("b3289b1e-4bb1-83d3-2aad-7f057e4c7393", new(true)))
	for _, format := range formats {
		item, err := wire.Parse(rawOf(b, format, pod), format)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(format.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := item.Lineage(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
