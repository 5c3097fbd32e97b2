package e2e

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/conformance"
)

// record writes the real server's answers to where the tests of package fake compare with them.
var record = flag.Bool("record", false, "write what kube-apiserver answers to ../internal/conformance/recorded")

// The embedded server answers as the real one does, but for the reviewed differences, and the real one as it was recorded.
func TestServersAnswerAlike(t *testing.T) {
	c := cluster.New(t, cluster.Options{}) // of its own: it is compacted
	genuine := conformance.RunScripts(t, c.Config(), func() {
		if _, err := c.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		// It remembers older versions in its own memory too.
		if err := c.APIServer().Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if *record {
		for script, answers := range genuine {
			path := filepath.Join("..", "internal", "conformance", "recorded", script+".txt")
			if err := os.WriteFile(path, []byte(answers), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		conformance.CompareRecorded(t, genuine, conformance.Recorded(t))
	}
	server := embedded(t)
	conformance.Compare(t, conformance.RunScripts(t, server.Config(), server.Compact), genuine)
}

// embedded starts the server that package fake has, with TLS and a token as the real one.
func embedded(t *testing.T) *fake.APIServer {
	t.Helper()
	server, err := fake.StartAPIServer(fake.APIServerOptions{TLS: true, Token: "embedded"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil { // t.Context() has ended by then
			t.Error(err)
		}
	})
	return server
}

// The same round trips succeed on both servers.
func TestClientsWorkOnBothServers(t *testing.T) {
	t.Run("kube-apiserver", func(t *testing.T) { conformance.RunClients(t, shared(t).Config()) })
	t.Run("embedded", func(t *testing.T) { conformance.RunClients(t, embedded(t).Config()) })
}
