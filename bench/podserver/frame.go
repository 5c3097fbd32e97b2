package podserver

import (
	"bytes"
	"encoding/binary"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// mustFrame returns a frame of a watch's stream with an object that is no Pod of
// the set.
func mustFrame(eventType watch.EventType, obj runtime.Object) []byte {
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		panic("frame of an unknown type: " + err.Error())
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: gvks[0].Kind}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	var object bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &object); err != nil {
		panic("frame of what cannot be encoded: " + err.Error())
	}
	event := metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: object.Bytes()}}
	body, err := event.Marshal()
	if err != nil {
		panic("frame of what cannot be encoded: " + err.Error())
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// expired returns the frame that ends a watch of which the version has gone.
func expired() []byte {
	status := apierrors.NewResourceExpired("the benchmark wants a relist").Status()
	return mustFrame(watch.Error, &status)
}

// isLast tells whether a frame is an ERROR, after which a server says no more.
func isLast(frame []byte) bool { return bytes.HasPrefix(frame[4:], []byte("\n\x05ERROR")) }
