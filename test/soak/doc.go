// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package soak runs informers of every kind against the embedded API server for as long as asked,
// over HTTPS and in real time, while objects change, requests fail, connections break, and handlers
// are slow, block, panic and end their goroutines:
//
//	make soak FOR=30m
//
// The run consists of cycles. In each, objects and faults come for a while, and an informer is
// stopped and replaced. Then the faults end, and the test checks that every store and every handler
// becomes equal to the server, that no informer made more than 22 requests in any minute, and that
// the number of goroutines and the heap do not grow from cycle to cycle. After the last cycle
// everything is stopped, and no goroutine may remain.
//
// Package model checks the same promises step by step, in simulated time. This package has what a
// simulation does not: real connections, TLS, HTTP/2, the garbage collector and the clock.
package soak
