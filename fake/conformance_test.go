package fake_test

import (
	"testing"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/conformance"
)

// The server answers as kube-apiserver did when that was recorded, but for the reviewed differences. The tests in e2e/ ask the real one again.
func TestConformance(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{})
	conformance.Compare(t, conformance.Run(t, server.Config(), server.Compact), conformance.Recorded(t))
}

// Unmodified clients work, over HTTP/1.1 as over TLS and HTTP/2 with a token.
func TestClients(t *testing.T) {
	for name, options := range map[string]fake.APIServerOptions{"plain": {}, "TLS": {TLS: true, Token: "secret"}} {
		t.Run(name, func(t *testing.T) {
			conformance.Clients(t, startServer(t, options).Config())
		})
	}
}
