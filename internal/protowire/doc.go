// Package protowire reads the wire format of protobuf as the generated Unmarshal
// functions of Kubernetes do: what they refuse is refused, and what they accept,
// which is more than the standard does, is accepted: overlong varints, groups among
// unknown fields. The cutter and the decoder stand on it, so that one never refuses
// what the other takes.
package protowire
