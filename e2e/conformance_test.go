// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/test/conformance"
)

// record selects writing the responses of kube-apiserver to the recording that test/conformance
// compares those of package fake with.
var record = flag.Bool("record", false, "write the responses of kube-apiserver to ../test/conformance/recorded")

// TestServersRespondAlike compares the fake server with kube-apiserver, except for the accepted
// differences, and kube-apiserver with its recording.
func TestServersRespondAlike(t *testing.T) {
	c := cluster.New(t, cluster.Options{}) // not the shared one: it is compacted
	restart := func() {
		if err := c.APIServer().Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	actual := conformance.RunScripts(t, c.Config(), conformance.Operator{
		Compact: func() {
			if _, err := c.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			restart() // until then, kube-apiserver keeps older versions in its watch cache
		},
		Restart: restart,
	})
	sharded := cluster.New(t, cluster.Options{APIServerArgs: []string{"--feature-gates=ShardedListAndWatch=true"}})
	actual.RunShardedScript(t, sharded.Config())
	if *record {
		for script, responses := range actual {
			path := filepath.Join("..", "test", "conformance", "recorded", script+".txt")
			if err := os.WriteFile(path, []byte(responses), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		conformance.CompareRecorded(t, actual, conformance.Recorded(t))
	}
	conformance.Compare(t, conformance.RunScriptsOnFake(t, likeTheReal()), actual)
}

// likeTheReal returns the options of a fake server with TLS and a token, as kube-apiserver has
// them.
func likeTheReal() fake.APIServerOptions { return fake.APIServerOptions{TLS: true, Token: "fake"} }

// TestClientsWorkOnBothServers makes the same round trips on both servers.
func TestClientsWorkOnBothServers(t *testing.T) {
	t.Run("kube-apiserver", func(t *testing.T) { conformance.RunClients(t, shared(t).Config()) })
	t.Run("fake", func(t *testing.T) { conformance.RunClients(t, conformance.StartFake(t, likeTheReal()).Config()) })
}
