// Package pack keeps objects in a fraction of their bytes, each of them readable
// for itself.
//
// Objects of one owner, such as the Pods of a ReplicaSet, are siblings: the first
// is their base, and every other is packed by its difference to the base. An
// object without siblings, and every base, is put together from parts of a
// dictionary, which is a number of objects that came early. The packer knows
// nothing of what the bytes mean: protobuf, JSON, whatever does not look random.
//
//	Object ──▶ base ──▶ dictionary          of an owner with several objects
//	Object ────────────▶ dictionary          of no owner
//
// # Who needs whom
//
// The arrows are pointers, and all that there are: a base and a dictionary never
// change, and are garbage once no object needs them any more. The table of owners
// points to bases weakly. A new dictionary takes the place of an older one for
// what is packed from then on. So nothing is ever packed anew because something
// else went or changed; and a collection whose owners come and go for ever takes
// as much memory as its objects.
//
// # Updates
//
// An object's next state is packed against the same base, while that pays, then
// against its owner's newest, and otherwise becomes the newest itself.
//
// # Corruption
//
// Every object has a checksum of the bytes that it stands for. Whatever happens to
// its own bytes, to the base's or to the dictionary's, or goes wrong in this
// package, Unpack returns the object as it was, or an error.
package pack
