// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/wire"
)

// benchPod returns a Pod of 3 kB, one of ten of its owner.
func benchPod(i int) *corev1.Pod {
	owner := fmt.Sprint("owner-", i/10)
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprint("web-", i), UID: types.UID(fmt.Sprint("uid-", i)), ResourceVersion: fmt.Sprint(1000 + i),
			Labels:          map[string]string{"app": owner, "index": fmt.Sprint(i)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: new(true)}},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "kubelet", Operation: "Update", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{}}}}}`)},
			}},
		},
		Spec:   corev1.PodSpec{NodeName: fmt.Sprint("node-", i%7)},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprint("10.0.0.", i)},
	}
	for c := range 3 {
		container := corev1.Container{
			Name: fmt.Sprint("container-", c), Image: "registry.example.com/web:" + owner, Command: []string{"/bin/web", "--config", "/etc/web.yaml"},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("1Gi")}},
		}
		for e := range 10 {
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", e), Value: fmt.Sprint("value ", e)})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	return pod
}

// BenchmarkPackList splits a list in memory and packs its items, with and without an index of
// labels and omitted fields.
func BenchmarkPackList(b *testing.B) {
	const pods = 2000
	var list corev1.PodList
	for i := range pods {
		list.Items = append(list.Items, *benchPod(i))
	}
	list.APIVersion, list.Kind = "v1", "PodList"
	text, err := json.Marshal(&list)
	if err != nil {
		b.Fatal(err)
	}
	content, err := list.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Raw: content}
	envelope, err := unknown.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		goType reflect.Type
		format wire.Format
		body   []byte
	}{
		{"protobuf", reflect.TypeFor[*corev1.Pod](), wire.Protobuf, append([]byte("k8s\x00"), envelope...)},
		{"unstructured", reflect.TypeFor[*unstructured.Unstructured](), wire.JSON, text},
	} {
		for _, index := range []string{"", ", index of labels"} {
			for _, omitted := range []string{"", ", without managedFields"} {
				b.Run(test.name+index+omitted, func(b *testing.B) {
					objects := ObjectType{GoType: test.goType}
					options := Options{Packed: true}
					if omitted != "" {
						options.Omit, err = fields.Omit(test.goType, []string{"metadata.managedFields"}, false)
						if err != nil {
							b.Fatal(err)
						}
					}
					b.ReportAllocs()
					for b.Loop() {
						var buffer []byte
						packer := NewPacker(objects, options, func() bool { return false })
						codecs := NewDecoders(objects, options).ForList()
						if _, err := wire.List(bytes.NewReader(test.body), test.format, wire.Options{}, func(item *wire.Item) error {
							return benchPack(packer, codecs, item, index != "", &buffer)
						}); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pods, "ns/item")
				})
			}
		}
	}
}

// benchPack does with an item what a source and a store do.
func benchPack(packer *Packer, codecs *Codecs, split *wire.Item, indexed bool, buffer *[]byte) error {
	meta, at, err := split.Identify()
	if err != nil {
		return err
	}
	item := feed.Item{Key: meta.Key, UID: meta.UID, ResourceVersion: meta.ResourceVersion, Raw: split.Raw, Codec: codecs.For(split), Layout: at}
	item, *buffer = item.Edited(*buffer)
	if indexed {
		if _, err := IndexMetadata(item, func(m Metadata) ([]string, error) { return []string{m.GetLabels()["app"]}, nil }); err != nil {
			return err
		}
	}
	_, err = packer.Pack(item, pack.Object{}, func() (any, error) { return Decode[object](item) })
	return err
}
