// Package omit leaves fields out of API objects: it cuts them out of the objects' bytes, in
// protobuf and in JSON, and clears them in decoded objects.
//
// [New] resolves paths against the Go type of the objects. Both ways have the same result for each
// encoding: decoding the bytes that [Fields.AppendProtobuf] or [Fields.AppendJSON] returns gives
// the object that [Fields.Without] returns for the decoded original.
//
// # What is left
//
// An omitted field has its zero value, or is absent from an unstructured object. A list on the way
// keeps its elements, and a pointer on the way is not nil. A map of which keys are omitted becomes
// nil, or absent, if no key is left, whether or not it had one: the emptied map would otherwise
// differ between the encodings.
//
// What is omitted is not checked: bytes that a decoder would refuse are no error if they are cut
// out.
package omit
