// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"testing"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
	"github.com/kinformer/kinformer/test/conformance"
)

func TestMain(m *testing.M) { goroutines.VerifyTestMain(m) }

// The responses of the fake server are those recorded from kube-apiserver, except for the reviewed
// differences. The tests in e2e/ compare the recording with a running kube-apiserver.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Compare(t, conformance.RunScriptsOnFake(t, fake.APIServerOptions{}), conformance.Recorded(t))
}

// Unmodified clients work over HTTP/1.1, and over TLS and HTTP/2 with a token.
func TestClients(t *testing.T) {
	for name, options := range map[string]fake.APIServerOptions{"HTTP": {}, "TLS": {TLS: true, Token: "secret"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance.RunClients(t, conformance.StartFake(t, options).Config())
		})
	}
}
