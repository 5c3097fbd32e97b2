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

// mustFrame returns a watch frame with an object.
func mustFrame(eventType watch.EventType, obj runtime.Object) []byte {
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		panic("watch frame: " + err.Error())
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: gvks[0].Kind}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	var object bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &object); err != nil {
		panic("watch frame: " + err.Error())
	}
	event := metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: object.Bytes()}}
	body, err := event.Marshal()
	if err != nil {
		panic("watch frame: " + err.Error())
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// expired returns the frame of a 410 Gone error, which ends a watch.
func expired() []byte {
	status := apierrors.NewResourceExpired("the benchmark requested a relist").Status()
	return mustFrame(watch.Error, &status)
}

// isLast reports whether a frame is an ERROR event, which is the last of a watch.
func isLast(frame []byte) bool { return bytes.HasPrefix(frame[4:], []byte("\n\x05ERROR")) }
