// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

func ownedPod(owners ...metav1.OwnerReference) *corev1.Pod {
	pod := newPod(1)
	pod.OwnerReferences = owners
	return pod
}

func owner(uid types.UID, controller *bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "set", UID: uid, Controller: controller}
}

func controllerUID(t testing.TB, raw []byte, format wire.Format) (string, error) {
	t.Helper()
	item := parse(t, raw, format)
	return item.ControllerUID()
}

// decodedControllerUID returns the controller's UID as apimachinery finds it.
func decodedControllerUID(object metav1.Object) string {
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		return string(controller.UID)
	}
	return ""
}

func ownedPods() map[string]*corev1.Pod {
	return map[string]*corev1.Pod{
		"no owner":           ownedPod(),
		"controller":         ownedPod(owner("u-1", new(true))),
		"no controller":      ownedPod(owner("u-1", nil), owner("u-2", new(false))),
		"first controller":   ownedPod(owner("u-1", nil), owner("u-2", new(true)), owner("u-3", new(true))),
		"empty UID":          ownedPod(owner("", new(true)), owner("u-3", new(true))),
		"escaped UID":        ownedPod(owner("\"\\<ä\u2028", new(true))),
		"trailing backslash": ownedPod(owner("\\", new(true))),
		"brackets in UID":    ownedPod(owner("]}[{,:", new(true))),
	}
}

// TestControllerUID reads the controller of objects, also by their layout.
func TestControllerUID(t *testing.T) {
	for name, pod := range ownedPods() {
		for _, format := range formats {
			t.Run(name+"/"+format.String(), func(t *testing.T) {
				raw := rawOf(t, format, pod)
				parsed := parse(t, raw, format)
				_, at, identifyErr := parsed.Identify()
				located, ok := wire.Located(raw, format, at)
				if identifyErr != nil || !ok {
					t.Errorf("the layout %+v, %v is not used", at, identifyErr)
				}
				for way, item := range map[string]wire.Item{"parsed": parsed, "located": located} {
					if got, err := item.ControllerUID(); err != nil || got != decodedControllerUID(pod) {
						t.Errorf("%s: ControllerUID() = %q, %v; want %q", way, got, err, decodedControllerUID(pod))
					}
				}
			})
		}
	}
}

func TestControllerUIDOfUnusualJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                "",
		`{"metadata":null}`: "",
		`{"metadata":{"deletionTimestamp":null,"ownerReferences":null}}`:                                                                       "",
		`{"metadata":{"ownerReferences":[]}}`:                                                                                                  "",
		`{"metadata":{"ownerReferences":5}}`:                                                                                                   "",
		`{"metadata":{"ownerReferences":{"uid":"no","controller":true}}}`:                                                                      "",
		`{"metadata":{"ownerReferences":[{}, null, 3 ,[1],{"controller":true,"uid":5}]}}`:                                                      "",
		`{"metadata":{"ownerReferences":[{"controller":"true","uid":"no"},{"uid":"u","controller":true}]}}`:                                    "u",
		`{ "metadata" : { "x" : -1.5e+3 , "deletionTimestamp" : "now" , "ownerReferences" : [ { "uid" : "u" , "controller" : true } ] } }`:     "u",
		`{"m\u0065tadata":{"ownerR\u0065ferences":[{"\u0075id":"\u0075","controller":true}]}}`:                                                 "u",
		`{"metadata":{"x":{"ownerReferences":[{"uid":"no","controller":true}],"deletionTimestamp":"no"},"y":"\"ownerReferences\":"}}`:          "",
		`{"spec":{"metadata":{"deletionTimestamp":"no"}},"deletionTimestamp":"no"}`:                                                            "",
		`{"metadata":{"ownerReferences":[{"uid":"a","controller":true}],"ownerReferences":[{"controller":true,"controller":null,"uid":"b"}]}}`: "b",
		`{"metadata":{"ownerReferences":[{"uid":"a","controller":true}],"ownerReferences":null}}`:                                              "",
		`{"metadata":{"ownerReferences":[{"uid":"a","controller":true}]},"metadata":{"name":"n"}}`:                                             "a",
	} {
		if got, err := controllerUID(t, []byte(text), wire.JSON); err != nil || got != want {
			t.Errorf("%s: ControllerUID() = %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestControllerUIDOfEvent(t *testing.T) {
	pod := ownedPod(owner("u-1", new(true)))
	for _, format := range formats {
		body := encodeEvent(t, format, "MODIFIED", pod)
		err := wire.Watch(strings.NewReader(string(body)), format, wire.Options{}, func(event *wire.Event) error {
			if got, err := event.Object.ControllerUID(); err != nil || got != "u-1" {
				t.Errorf("%v: ControllerUID() = %q, %v", format, got, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestControllerUIDOfBrokenMessage(t *testing.T) {
	for name, raw := range map[string]string{
		"truncated":             bytesField(1, bytesField(13, "x"))[:3],
		"controller of bytes":   bytesField(1, bytesField(13, bytesField(6, "yes"))),
		"overlong controller":   bytesField(1, bytesField(13, "\x30"+strings.Repeat("\xff", 11))),
		"owner's UID as varint": bytesField(1, bytesField(13, "\x20\x01")),
	} {
		if got, err := controllerUID(t, []byte(raw), wire.Protobuf); err == nil || got != "" {
			t.Errorf("%s: ControllerUID() = %q, %v; want an error", name, got, err)
		}
	}
}

// FuzzControllerUID compares ControllerUID with apimachinery's decoders.
func FuzzControllerUID(f *testing.F) {
	for _, pod := range ownedPods() {
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
		got, err := item.ControllerUID()
		var want metav1.PartialObjectMetadata
		switch {
		case !isJSON && want.Unmarshal(raw) != nil, isJSON && (json.Unmarshal(raw, &want) != nil || mergesMembers(string(raw))):
			return // any result will do, except a panic
		}
		if err != nil || got != decodedControllerUID(&want) {
			t.Fatalf("ControllerUID() = %q, %v; want %q", got, err, decodedControllerUID(&want))
		}
	})
}

// mergesMembers reports whether a decoder may merge members of text that ControllerUID reads: one
// may occur twice, or have an escaped name.
func mergesMembers(text string) bool {
	for _, name := range []string{"metadata", "ownerReferences", "controller", "uid"} {
		if strings.Count(text, `"`+name+`"`) > 1 {
			return true
		}
	}
	return strings.Contains(text, `\`) || strings.Contains(text, `:""`)
}

func BenchmarkControllerUID(b *testing.B) {
	pod := ownedPod(owner("b3289b1e-4bb1-83d3-2aad-7f057e4c7393", new(true)))
	for _, format := range formats {
		item := parse(b, rawOf(b, format, pod), format)
		b.Run(format.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := item.ControllerUID(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
