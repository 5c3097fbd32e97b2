// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package errlog bounds the number of log lines that errors cause, however often they recur and
// however many objects they affect.
//
//   - [Requests] says which failed requests, and which recoveries, are to be logged: an error that
//     differs at most in digits once in five minutes, and three recoveries.
//   - [Causes] says which of the errors that several informers have at the same time are to be
//     logged: the first one, and then one a minute with the number of informers. [Cause] returns
//     the text that such errors have in common.
//   - [Objects] logs errors on objects: the first ten of each effect, and then one line a minute
//     with the number of further ones.
//
// Requests and Objects recognize by [Repeats] what was logged in the last five minutes. None of
// them keeps a goroutine. They do not use utilruntime.HandleError, whose rate limit blocks the
// caller: for decades in a synctest bubble, whose clock starts in the year 2000.
package errlog
