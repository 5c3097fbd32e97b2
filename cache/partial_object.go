// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/fields"
)

// PartialObject is an object of API type A of which an informer keeps the metadata, without
// managedFields, and the fields of the struct S, whose json tags name them:
//
//	type podFields struct {
//		Spec struct {
//			NodeName string `json:"nodeName"`
//		} `json:"spec"`
//	}
//	type Pod = cache.PartialObject[*corev1.Pod, podFields]
//
//	pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &Pod{}, options)
//	pod, ok := pods.Store().GetByKey("default/web") // pod.Name, pod.Fields.Spec.NodeName
//
// The alias states A and S once: the constructors infer them from the example &Pod{}, and
// WaitForAPIObject from the informer. Write *Pod in composite
// literals and in ByField: InformerOptions[*Pod]{}, ByField[*Pod]("spec.nodeName").
//
// A is the type that the ListerWatcher lists. For custom resources without a Go type, A is
// *unstructured.Unstructured, and the TypeMeta of the example states their kind. The types of S:
//
//	in A                                       in S
//	string, number, bool                       the same type, or one of the same kind
//	struct                                     the same type, or a struct with fewer fields
//	pointer, slice, map with string keys       the same, of any type of this column
//	type with an UnmarshalJSON method,         the same type
//	such as Quantity, Time and IntOrString
//	part of an unstructured object             any of these types that its JSON fits
//
// Every other type is invalid, as are fields that are unexported, that have no name in their json
// tag, that share a name, that A does not have, and, in S itself, metadata, apiVersion and kind.
// The error of the informer, as of any invalid argument, names each such field.
//
// A field that an object does not have is zero. If a field of S has another type in an object's
// JSON, the object is not stored, and is reported as an ObjectError.
//
// PartialObjects are objects like any other for options, handlers, indexes, listers and the
// packages shard, metrics and debug. Names and errors have the kind of A. Package clientgo does not
// support them, since its programs read client-go's types. These options differ:
//
//   - OmitFields applies to what is kept, such as metadata.annotations, and needs no NeverWritten.
//     A path that leads to a field of S, into it or to a struct around it is invalid.
//   - Packed keeps the server's bytes of the metadata and of the fields of S. What a Transform
//     returns is kept as JSON instead.
//
// An API server refuses the write of a PartialObject; see MarshalJSON. After a write of the whole
// object, use WaitForAPIObject.
type PartialObject[A Object, S any] struct {
	metav1.TypeMeta   // empty unless the client sets that of the object
	metav1.ObjectMeta // without ManagedFields
	Fields            S
}

// DeepCopyObject returns a copy that shares nothing with the object.
func (p *PartialObject[A, S]) DeepCopyObject() runtime.Object { return p.DeepCopy() }

// DeepCopy is DeepCopyObject with the object's type.
func (p *PartialObject[A, S]) DeepCopy() *PartialObject[A, S] {
	if p == nil {
		return nil
	}
	out := new(PartialObject[A, S])
	p.DeepCopyInto(out)
	return out
}

// DeepCopyInto writes a copy that shares nothing with the object to out.
func (p *PartialObject[A, S]) DeepCopyInto(out *PartialObject[A, S]) {
	*out = PartialObject[A, S]{TypeMeta: p.TypeMeta}
	p.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	fields.DeepCopy(&out.Fields, &p.Fields)
}

// MarshalJSON encodes the object with the apiVersion "partial.kinformer.dev/v1", which an API
// server refuses: a write of it would delete the fields that it lacks.
func (p PartialObject[A, S]) MarshalJSON() ([]byte, error) {
	kind := cmp.Or(p.Kind, codec.TypeOf(reflect.TypeFor[A](), nil).Kind(), "PartialObject")
	return codec.EncodePartial(&p, schema.GroupVersionKind{Group: "partial.kinformer.dev", Version: "v1", Kind: kind})
}

func (p *PartialObject[A, S]) types() (kept, api, fields reflect.Type) {
	return reflect.TypeFor[*PartialObject[A, S]](), reflect.TypeFor[A](), reflect.TypeFor[S]()
}

// WaitForAPIObject is SharedInformer.WaitForObject for an informer of PartialObjects: written is
// the whole object that a write has returned.
func WaitForAPIObject[A Object, S any](ctx context.Context, informer *SharedInformer[*PartialObject[A, S]], written A) error {
	if informer.core.invalid != nil {
		return informer.core.invalid
	}
	obj, err := informer.keptOf(written)
	if err != nil {
		return fmt.Errorf("%s: %w", informer.core.report.name, err)
	}
	return informer.core.waitForObject(ctx, obj, written)
}
