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
		{json + ";as=Table;v=v1;g=meta.k8s.io, " + json, json, json},
		{json + ";as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io, " + json, json, json},
		{proto + ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io, " + json, proto + " PartialObjectMetadata", proto + " PartialObjectMetadata"},
		{json + ";as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io, " + json, json, json},
		{"application/cbor, ;broken, " + proto, proto, ""},
		{json + ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", json + " PartialObjectMetadataList", json + " PartialObjectMetadataList"},
		{"text/html", "", ""},
	} {
		for endpoint, want := range map[Endpoint]string{Objects: tc.want, CustomObjects: tc.wantJSONOnly} {
			if got := accepted(tc.header, endpoint); got != want {
				t.Errorf("Accept %q, endpoint %v: got %q, want %q", tc.header, endpoint, got, want)
			}
		}
	}
}

// accepted formats the encoding of an endpoint for an Accept header.
func accepted(header string, endpoint Endpoint) string {
	accepted, ok := NewSet().ForAccept(header, endpoint)
	if !ok {
		return ""
	}
	return strings.TrimSpace(accepted.ContentType + " " + accepted.As)
}

// Only documents of all groups have the aggregated representation, and only in version v2.
func TestForAcceptOfDiscovery(t *testing.T) {
	const proto, json = "application/vnd.kubernetes.protobuf", "application/json"
	const v2, v2beta1 = ";as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", ";as=APIGroupDiscoveryList;v=v2beta1;g=apidiscovery.k8s.io"
	for _, tc := range []struct{ header, wantGroups, wantDocument string }{
		{"", json, json},
		{json + v2, json + " APIGroupDiscoveryList", ""},
		{json + v2 + ";profile=nopeer", json + " APIGroupDiscoveryList", ""},
		{proto + v2, proto + " APIGroupDiscoveryList", ""},
		{json + v2beta1, "", ""},
		{json + v2 + "," + json + v2beta1 + "," + json, json + " APIGroupDiscoveryList", json},
		{json + "," + json + v2, json, json},
		{json + ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io, " + proto, proto, proto},
	} {
		for endpoint, want := range map[Endpoint]string{Groups: tc.wantGroups, Document: tc.wantDocument} {
			if got := accepted(tc.header, endpoint); got != want {
				t.Errorf("Accept %q, endpoint %v: got %q, want %q", tc.header, endpoint, got, want)
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
