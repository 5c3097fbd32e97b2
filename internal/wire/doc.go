// Package wire cuts the body of a LIST or WATCH answer of a Kubernetes API
// server into objects as it arrives. It never holds more of the body than the
// object that is being read, and decodes nothing but what it is asked for.
//
//	          ┌───────────────────────── List / Watch ─┐
//	          │           ┌─ protobuf: lengths ─┐      │
//	body ─────┼─▶ window ─┤                     ├──────┼─▶ Item / Event
//	          │           └─ JSON: scanner ─────┘      │      (borrowed)
//	          └────────────────────────────────────────┘
//
// # Terms
//
// A body is what an HTTP answer carries. A list is cut into items; a watch is
// cut into events, each of a type and an object. The bytes of an item are the
// same whichever way it came: in protobuf the bare message of the object's type
// (an envelope, if there was one, is taken off), in JSON the object from '{' to
// '}'. An envelope is the four bytes "k8s\x00" and a runtime.Unknown, which
// names apiVersion and kind of the message in it.
//
// # What is checked
//
// Enough to know where an object begins and ends, and that all of it was there:
// an item is handed out only when its last byte has been read. JSON is checked
// in full, to encoding/json's grammar; of a protobuf message only the fields on
// the way are looked at. Of what comes twice, the same is believed as by the
// decoders of apimachinery: in protobuf the last value, messages merged; in JSON
// the last that is not null, objects merged, names of members case-sensitive.
//
// # Lifetime
//
// An Item and its bytes are the reader's buffer: they are the callee's until it
// returns. Who keeps them copies them (bytes.Clone). Strings are copies always.
//
// # Errors
//
// What is wrong with a body is an *Error: it says where. A body that ends too
// early is io.ErrUnexpectedEOF, one item too large is ErrTooLarge, a Status in
// the place of a list or watch is the *apierrors.StatusError that it states; all
// to be found with errors.Is and errors.As. Errors of a callback are returned
// as they are.
package wire
