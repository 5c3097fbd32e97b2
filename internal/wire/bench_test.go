// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/internal/wire"
)

const benchPods = 20_000

// BenchmarkList splits a list of 20,000 Pods in memory and reads the identity of each.
func BenchmarkList(b *testing.B) {
	list := podList(b, benchPods)
	for _, format := range formats {
		body := encode(b, serializer(format), list)
		benchmarkBody(b, format, body, benchPods, func() error {
			_, err := wire.List(bytes.NewReader(body), format, wire.Options{Kind: "Pod"}, readMeta)
			return err
		})
	}
}

func readMeta(item *wire.Item) error {
	_, err := item.Meta()
	return err
}

// benchmarkBody reads a body of n items.
func benchmarkBody(b *testing.B, format wire.Format, body []byte, n int, read func() error) {
	b.Helper()
	b.Run(format.String(), func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if err := read(); err != nil {
				b.Fatal(err)
			}
		}
		perItem(b, n)
	})
}

// perItem reports the time per item of lists of n items.
func perItem(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
}

// BenchmarkListClientGo decodes lists of 2,000 such Pods with client-go, for comparison.
func BenchmarkListClientGo(b *testing.B) {
	const pods = 2000
	list := podList(b, pods)
	for _, format := range formats {
		body := encode(b, serializer(format), list)
		benchmarkBody(b, format, body, pods, func() error {
			_, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, &corev1.PodList{})
			return err
		})
	}
}

// BenchmarkListEncodingJSON splits a list into raw messages with encoding/json, for comparison.
func BenchmarkListEncodingJSON(b *testing.B) {
	const pods = 2000
	body := encode(b, jsonSerializer, podList(b, pods))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		var list struct{ Items []stdjson.RawMessage }
		if err := stdjson.Unmarshal(body, &list); err != nil {
			b.Fatal(err)
		}
	}
	perItem(b, pods)
}

// BenchmarkWatch splits a stream of events and reads the identity of each object.
func BenchmarkWatch(b *testing.B) {
	const events = 2000
	for _, format := range formats {
		var body []byte
		for i := range events {
			body = append(body, encodeEvent(b, format, "MODIFIED", typed(b, newPod(i)))...)
		}
		benchmarkBody(b, format, body, events, func() error {
			return wire.Watch(bytes.NewReader(body), format, wire.Options{Kind: "Pod"}, func(event *wire.Event) error {
				return readMeta(&event.Object)
			})
		})
	}
}

// BenchmarkMeta parses one object and reads its identity.
func BenchmarkMeta(b *testing.B) {
	for _, format := range formats {
		raw := rawOf(b, format, typed(b, newPod(1)))
		b.Run(format.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				item, err := wire.Parse(raw, format)
				if err != nil {
					b.Fatal(err)
				}
				if err := readMeta(&item); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
