// Package tap hands the body of an HTTP answer to whoever asked for it in the
// request's context, while the client that made the request thinks it has read a
// small answer of its own.
//
//	client ──request──▶ tap ──request──▶ transport
//	                     │
//	client ◀──stand-in── tap ◀──body──── server
//	                     │
//	                     └──body──▶ Tap.Consume
//
// Authentication, TLS, proxies, timeouts and retries stay the client's: the tap
// only replaces the body of a successful answer. Its first Read, in whichever
// goroutine the client reads its answer, runs Consume over the real body, and
// then yields the stand-in that Consume returns. A request without a Tap in its
// context passes untouched.
package tap
