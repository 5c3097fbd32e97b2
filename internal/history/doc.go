// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package history remembers the newest states that a reflector has received, and compares them with
// what the server shows later. If etcd was restored from a backup, the server continues from an
// earlier state, and may use the same resourceVersions for other writes. A client that goes on with
// its watch would be wrong for good.
//
// A version proves nothing: a restored server may have reached it again. Contents prove nothing:
// two API servers of two minor versions show one object with different defaults. What both show
// alike is the Stamp of the write.
//
//	             Received, Listed                Overlap, Question, Compare
//	events, lists ───────────────▶ History ◀──────────────────────────────── reflector
//
// A resumed watch starts before the last changes that were received, of up to eight versions, and
// the server must first repeat them (Overlap). A list is compared with the newest 64 states
// (History.Compare), and with those of reflectors that were replaced (Inherit). Where a server does
// not repeat changes, it is asked for the objects of the newest ones (Question).
//
//	the server                                     it follows
//	─────────────────────────────────────────────  ─────────────────────────────────────────────
//	repeats the changes, with their stamps         the watch goes on
//	sends another event, another stamp, a bookmark consistent read, at once
//	past a change, an event that one had passed,
//	or a list with another stamp, or an older state
//	sends nothing for 5 s                          question
//	refuses the start with 410, or twice the watch watch from the version reached, at once, and
//	otherwise, or ends it twice before the end     question
//	has the newest change with an object, and      its history is proved
//	not the objects that were deleted since
//	has an older state of one, or another write's  consistent read, at once
//	lacks the newest objects, and the watch sends  consistent read, at once
//	no deletion of one within 3.5 s
//	answers otherwise, or not                      list within 1 to 5 minutes, once in 30 minutes
//
// A repeated event that cannot be read is compared by its version alone, if that can be read.
//
// A rollback passes unnoticed if the new history has, at the versions of all changes that are
// compared, writes with the same stamps: of the same objects, by the same managers, of the same
// fields, in the same second. It also does if nothing was received since the last list or proof, or
// if the 64 newest states were all written again before a list that follows a 410.
package history
