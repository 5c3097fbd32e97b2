// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package decode decodes Kubernetes' generated API types from protobuf and deduplicates equal parts
// of the decoded objects.
//
//	pods, err := decode.New(reflect.TypeFor[corev1.Pod](), decode.Options{})
//	obj, err := pods.Decode(raw)
//
// The result equals that of the type's generated Unmarshal method, nil and empty values included,
// and input is rejected if Unmarshal rejects it. Unmarshal allocates a string for each field. A
// Decoder follows a plan instead, which is compiled from the struct tags (plan.go). It looks
// strings up in tables (internal/intern) before it allocates them, and counts the elements of a
// slice before it allocates the slice.
//
// A plan is compiled once in a process and then only read. The Decoders of its type share it.
// What a Decoder learns is its own: tables, and for each field a cache of strings and an estimate.
// Tables and caches are made when they are first used, so that a Decoder of few objects is small.
//
//	bytes ──▶ decodeMessage ──▶ decodeField ──▶ addr
//	          walks over        looks up or     writes into
//	          the wire format   allocates       the struct
//
// Objects share:
//
//   - always: strings, and the bytes of managedFields, which callers must not modify;
//   - with [Options.ShareEqual]: equal maps, slices and messages behind pointers too, which are
//     found by their encoding and not decoded again. A caller that writes into one object then
//     writes into others (share.go).
//
// The two states of [Decoder.DecodeUpdate] share equal parts in any case, so that only what differs
// is decoded twice (update.go).
//
// [Decoder.Check] and [JSON.Check] find the error of Decode without building the object, for bytes
// that are stored and decoded later (check.go).
//
// [Decoder.Allocates] and [JSONAllocates] estimate what Decode would allocate, so that a caller can
// refuse hostile bytes (estimate.go, estimate_json.go).
//
// [NewPartial] compiles a plan with some of an API type's fields, which writes them into a struct
// of another type, and skips the others.
//
// A type with struct tags that the compiler does not support is decoded by its Unmarshal method.
// [JSON] decodes unstructured objects, and deduplicates member names and strings.
//
// Measured for one Pod:
//
//	                                     memory    CPU time   allocations
//	generated Unmarshal                  17.8 KB   37 µs      247
//	Unmarshal, then interned strings     16.6 KB   50 µs
//	Decoder                              12.1 KB   27 µs      89
//	Decoder with ShareEqual               6.1 KB   20 µs      44
//	Check                                 0        1.3 µs     0
package decode
