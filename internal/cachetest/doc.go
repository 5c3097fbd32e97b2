// Package cachetest is the harness of this module's tests: informers of Pods on a fake server inside
// a synctest bubble (Harness), and informers over a loopback network (NetworkHarness). Both record
// events, errors and requests, and check after each test what holds in every case.
package cachetest
