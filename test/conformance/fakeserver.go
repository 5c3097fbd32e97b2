// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/kinformer/kinformer/fake"
)

// closeTimeout is how long a server may take to close. It is long for slow machines.
const closeTimeout = 30 * time.Second

// StartFake starts a server of package fake, which is closed at the end of the test.
func StartFake(t *testing.T, options fake.APIServerOptions) *fake.APIServer {
	t.Helper()
	server, err := fake.StartAPIServer(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout) // t.Context() has ended by then
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return server
}

// RunScriptsOnFake starts a server of package fake and returns its responses to all scripts.
func RunScriptsOnFake(t *testing.T, options fake.APIServerOptions) Transcript {
	t.Helper()
	server := StartFake(t, options)
	responses := RunScripts(t, server.Config(), Operator{Compact: server.Compact, Restart: server.TruncateWatchCache})
	server.SetShardedListAndWatch(true)
	responses.RunShardedScript(t, server.Config())
	return responses
}
