// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package tap diverts the body of an HTTP response to the code that asked for it in the request's
// context. The client that made the request reads a small placeholder body instead.
//
//	client ──request────▶ tap ──request──▶ transport
//	                       │
//	client ◀─placeholder── tap ◀──body──── server
//	                       │
//	                       └──body──▶ Tap.Consume
//
// Authentication, TLS, proxies, timeouts and retries remain with the client: the tap replaces only
// the body of a successful response. The first Read of that body, in the goroutine in which the
// client reads, runs Consume on the server's body; then the client reads the placeholder that
// Consume returned. A request without a Tap in its context is not changed.
package tap
