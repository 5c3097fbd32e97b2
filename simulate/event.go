// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// describeEvent returns the type of a watch event, with the kind and name of its object, and the
// object's version, from the event's frame in JSON or protobuf.
func describeEvent(frame []byte) (what, version string) {
	event, err := decodeEvent(frame)
	if err != nil {
		return "an event that cannot be decoded: " + err.Error(), ""
	}
	var object runtime.Object = &unstructured.Unstructured{}
	if json.Unmarshal(event.Object.Raw, object) != nil {
		if object, _, err = scheme.Codecs.UniversalDeserializer().Decode(event.Object.Raw, nil, nil); err != nil {
			return event.Type, ""
		}
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return event.Type, "" // a Status
	}
	kind := object.GetObjectKind().GroupVersionKind().Kind
	name := strings.Trim(accessor.GetNamespace()+"/"+accessor.GetName(), "/")
	return strings.TrimSpace(event.Type + " " + kind + " " + name), accessor.GetResourceVersion()
}

func decodeEvent(frame []byte) (*metav1.WatchEvent, error) {
	event := &metav1.WatchEvent{}
	if bytes.HasPrefix(frame, []byte("{")) {
		return event, json.Unmarshal(frame, event)
	}
	const lengthSize = 4 // of the length before a message of protobuf
	return event, event.Unmarshal(frame[min(lengthSize, len(frame)):])
}
