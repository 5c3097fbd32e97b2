// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// undecodable returns the bytes of an object with readable metadata that cannot be decoded.
func undecodable(f cachetest.Format, n *corev1.Node) []byte {
	if f.ListType == runtime.ContentTypeJSON {
		whole, spec := f.Encode(n), []byte(`"spec":{}`)
		if !bytes.Contains(whole, spec) {
			panic("no spec to replace")
		}
		return bytes.Replace(whole, spec, []byte(`"spec":[true]`), 1)
	}
	return envelope("Node", undecodableMessage(n))
}

// undecodableMessage returns a protobuf message of a Node whose status is truncated.
func undecodableMessage(n *corev1.Node) []byte {
	message, err := (&corev1.Node{ObjectMeta: n.ObjectMeta}).Marshal()
	if err != nil {
		panic(err)
	}
	return append(message, 3<<3|2, 1, 0xff)
}

// corruptField is the length of the field that undecodableMessage appends.
const corruptField = 3

// envelope returns the response of an API server that has a protobuf message.
func envelope(kind string, message []byte) []byte {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: message}
	body, err := unknown.Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte("k8s\x00"), body...)
}

// undecodableNodes returns a list of undecodable objects.
func undecodableNodes(f cachetest.Format, resourceVersion string, nodes ...*corev1.Node) []byte {
	return nodesWithUndecodable(f, resourceVersion, 0, nodes...)
}

// nodesWithUndecodable returns a list of objects, of which only the first good ones can be decoded.
func nodesWithUndecodable(f cachetest.Format, resourceVersion string, good int, nodes ...*corev1.Node) []byte {
	if f.ListType == runtime.ContentTypeJSON {
		parts := bytes.Split(f.Nodes(resourceVersion, nodes...), []byte(`"spec":{}`))
		return append(bytes.Join(parts[:good+1], []byte(`"spec":{}`)), append([]byte(`"spec":[true]`), bytes.Join(parts[good+1:], []byte(`"spec":[true]`))...)...)
	}
	listMeta, err := (&metav1.ListMeta{ResourceVersion: resourceVersion}).Marshal()
	if err != nil {
		panic(err)
	}
	list := appendField(nil, 1, listMeta)
	for i, n := range nodes {
		message := undecodableMessage(n)
		if i < good {
			message = message[:len(message)-corruptField]
		}
		list = appendField(list, 2, message)
	}
	return envelope("NodeList", list)
}

// appendField appends a field with a length to a protobuf message.
func appendField(message []byte, number byte, content []byte) []byte {
	message = binary.AppendUvarint(append(message, number<<3|2), uint64(len(content)))
	return append(message, content...)
}

// writtenNode returns a Node that says when it was written. Its contents are not compared.
func writtenNode(name, resourceVersion string) *corev1.Node {
	node, at := cachetest.Node(name, resourceVersion), metav1.Unix(1000, 0)
	node.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate, Time: &at}}
	return node
}

// TestUndecodableObjectIsQuarantined sends an object that cannot be decoded. It is reported by name
// and listed again; other objects are not affected.
func TestUndecodableObjectIsQuarantined(t *testing.T) {
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			a := writtenNode("a", "2")
			a.TypeMeta = cachetest.TypeMeta("Node")
			s := cachetest.NewScript(t, []http.HandlerFunc{
				cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("a", "1"))),
				cachetest.Serve(f.ListType, f.Nodes("9", writtenNode("a", "4"), cachetest.Node("b", "5"))),
			}, nil)
			a.ResourceVersion = "4"
			s.Watches = []http.HandlerFunc{
				cachetest.Serve(f.WatchType, slices.Concat(f.Frame(watch.Modified, undecodable(f, a)), f.Event(watch.Added, cachetest.Node("b", "5")))),
				s.ServeOpen(f.WatchType, nil),
			}
			h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			h.Expect("A a@1", "A b@5", "U a@1→4")
			var object *cache.ObjectError
			if err := cachetest.Next(t, h.Errors); !errors.As(err, &object) || object.Key != "a" {
				t.Errorf("error %v", err)
			}
			if err := cachetest.Next(t, h.Errors); !errors.Is(err, reflector.ErrQuarantined) {
				t.Errorf("error %v", err)
			}
			cachetest.ExpectNext(t, s.Requests, "list@0", "watch@3", "list@5", "watch@9")
			h.ExpectQuiet()
			if quarantined := h.Controller.Status().Store.Quarantined; quarantined != 0 {
				t.Errorf("%d objects are quarantined after the relist", quarantined)
			}
		})
	}
}

// TestRelistDoesNotDecodeUnchangedObjects lists stored versions again, with bytes that cannot be
// decoded.
func TestRelistDoesNotDecodeUnchangedObjects(t *testing.T) {
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			nodes := []*corev1.Node{writtenNode("a", "1"), writtenNode("b", "2")}
			s := cachetest.NewScript(t, []http.HandlerFunc{
				cachetest.Serve(f.ListType, f.Nodes("3", nodes...)),
				cachetest.Serve(f.ListType, undecodableNodes(f, "8", nodes...)),
			}, nil)
			s.Watches = []http.HandlerFunc{cachetest.ServeStatus(410, "", "Expired"), s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("c", "9")))}
			h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			h.Expect("A a@1", "A b@2", "A c@9")
			if err := cachetest.Next(t, h.Errors); !apierrors.IsResourceExpired(err) {
				t.Errorf("error %v", err)
			}
			h.ExpectQuiet()

			// An empty store does decode these bytes, and fails.
			s.SkipList()
			fresh := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			var object *cache.ObjectError
			if err := cachetest.Next(t, fresh.Errors); !errors.As(err, &object) || object.Key != "a" {
				t.Errorf("error %v", err)
			}
		})
	}
}

// An object larger than the limit is reported, and other objects are not affected.
func TestOversizedObjectIsSkipped(t *testing.T) {
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			huge := cachetest.Node("b", "4")
			huge.Annotations = map[string]string{"large": strings.Repeat("x", 64<<20)}
			s := cachetest.NewScript(t, []http.HandlerFunc{cachetest.Serve(f.ListType, f.Nodes("5", cachetest.Node("a", "3"), huge, cachetest.Node("c", "5")))}, nil)
			repaired := make(chan struct{})
			s.Watches = []http.HandlerFunc{serveAfter(f.WatchType, nil, repaired, s.ServeOpen(f.WatchType, f.Event(watch.Modified, cachetest.Node("b", "6"))))}
			h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			h.Expect("A a@3", "A c@5")
			expectNotStored(t, h.Store, "b", "larger than allowed")
			close(repaired)
			h.Expect("A b@6")
			expectStored(t, h.Store, "b")
			var object *cache.ObjectError
			if err := cachetest.Next(t, h.Errors); !errors.As(err, &object) || object.Key != "b" || !strings.Contains(err.Error(), "larger than allowed") {
				t.Errorf("error %v, want one of object b", err)
			}
		})
	}
}
