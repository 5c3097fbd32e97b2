// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package testing shows how to test code that uses informers. The code under test is a controller
// that labels each Pod with the name of its node.
//
//   - bubble_test.go: unit tests in a testing/synctest bubble, with fake.ListerWatcher in place of
//     an API server. Time is simulated, so that a test of a failure which lasts an hour takes
//     milliseconds, and a test knows when all goroutines are idle.
//   - server_test.go: the same controller with a real clientset and fake.APIServer, over HTTP.
package testing
