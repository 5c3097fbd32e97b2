// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func TestForAcceptChoosesBestSupportedEncoding(t *testing.T) {
	const proto, json = "application/vnd.kubernetes.protobuf", "application/json"
	for _, tc := range []struct{ header, want, wantJSONOnly string }{
		{"", json, json},
		{json, json, json},
		{proto, proto, ""},
		{proto + "," + json, proto, json},
		{proto + ";q=0.1," + json + ";q=0.2", json, json},
		{json + ";as=Table;v=v1;g=meta.k8s.io, " + json, json + " Table", json + " Table"},
		{json + ";as=Table;v=v1beta1;g=meta.k8s.io, " + json, json, json},
		{proto + ";as=Table;v=v1;g=meta.k8s.io, " + json, json, json},
		{proto + ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io, " + json, proto + " PartialObjectMetadata", proto + " PartialObjectMetadata"},
		{json + ";as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io, " + json, json, json},
		{"application/cbor, ;broken, " + proto, proto, ""},
		{json + ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", json + " PartialObjectMetadataList", json + " PartialObjectMetadataList"},
		{"text/html", "", ""},
	} {
		for jsonOnly, want := range map[bool]string{false: tc.want, true: tc.wantJSONOnly} {
			got := ""
			if accepted, ok := NewSet().ForAccept(tc.header, jsonOnly); ok {
				got = strings.TrimSpace(accepted.ContentType + " " + accepted.As)
			}
			if got != want {
				t.Errorf("Accept %q, jsonOnly %v: got %q, want %q", tc.header, jsonOnly, got, want)
			}
		}
	}
}

func TestForContentTypeRejectsUnsupportedTypes(t *testing.T) {
	for header, want := range map[string]bool{
		"": true, "application/json; charset=utf-8": true, "application/vnd.kubernetes.protobuf": true,
		"*/*": false, "text/plain": false, ";": false,
	} {
		if got := NewSet().ForContentType(header) != nil; got != want {
			t.Errorf("Content-Type %q: supported %v, want %v", header, got, want)
		}
	}
}

// client-go's decoders expect a length prefix before each protobuf frame, and one line per JSON
// frame.
func TestEncodeEventFraming(t *testing.T) {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	frame, err := NewSet().ForContentType("application/vnd.kubernetes.protobuf").EncodeEvent(watch.Added, pod)
	if err != nil || int(binary.BigEndian.Uint32(frame)) != len(frame)-4 {
		t.Fatalf("got %q, %v", frame, err)
	}
	var event metav1.WatchEvent
	if err := event.Unmarshal(frame[4:]); err != nil || event.Type != "ADDED" || !bytes.HasPrefix(event.Object.Raw, []byte("k8s\x00")) {
		t.Errorf("got %+v, %v", event, err)
	}
	frame, err = NewSet().JSON().EncodeEvent(watch.Deleted, pod)
	if err != nil || bytes.IndexByte(frame, '\n') != len(frame)-1 || !bytes.HasPrefix(frame, []byte(`{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1",`)) {
		t.Errorf("got %q, %v", frame, err)
	}
}
