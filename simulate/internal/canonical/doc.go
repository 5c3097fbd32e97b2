// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package canonical brings the objects of an API server into a form in which the end states of two
// runs of a program can be compared.
//
// A State holds the fields of each object as text, by path. Left out is what differs between two
// correct runs: UIDs, resourceVersions, generations, managedFields and times. A UID in a value or
// a key, or in a part of one, is replaced by the name of its object, and that of an object which
// does not exist, in a reference to an owner, by "(no object)". Generated names, which end in
// random letters, are replaced by a number: the objects of one generateName are numbered in the
// order of their content. So are names that end in the hash of a template, and the hashes
// themselves, since a template with a time has another hash in each run. The revisions of a
// StatefulSet are replaced by what they are to it: its current or its update revision.
package canonical
