// Package decode decodes Kubernetes' generated API types from protobuf, so that
// equal parts of many objects are in memory once.
//
//	pods, err := decode.New(reflect.TypeFor[corev1.Pod](), decode.Options{})
//	obj, err := pods.Decode(raw)
//
// What it makes is what the type's generated Unmarshal makes, to the last nil; and
// it refuses what that refuses. It does not call Unmarshal, though, which makes a
// string of its own for each field: it follows a plan, which is compiled from the
// struct tags once for each Decoder (plan.go), looks equal strings up in tables
// (internal/intern) before it makes them, and counts the elements of a slice before
// it makes that: a third of the allocations.
//
//	bytes ──▶ message ──▶ field ──▶ place
//	          walks over  looks up  writes into
//	          the wire    or makes  the struct
//
// How much is shared:
//
//   - always: strings, and the bytes of managedFields, which nobody writes into;
//   - with [Options.ShareEqual]: equal maps, slices and messages behind pointers
//     too, which are found by their bytes on the wire and then not even decoded.
//     Whoever writes into one object then writes into others (share.go).
//
// A type whose tags the plan does not understand (plan.go says which) goes through
// its Unmarshal. [JSON] does for unstructured objects what can be done without a
// type: it shares names of members, and strings.
package decode
