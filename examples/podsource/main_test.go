// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/kinformer/kinformer/examples/internal/program"
)

// TestProgram runs the example until each source has sent its first set and a change, and the
// manifest folder has failed and recovered.
func TestProgram(t *testing.T) {
	p := program.Start(t)
	p.ExpectAll(
		"api   SET     shop/web",
		"file  SET     default/proxy-node-1",
		"http  SET     default/agent-node-1",
		"api   UPDATE  shop/web",
		"http  DELETE  default/agent-node-1",
		"http  ADD     default/agent-node-1",
	)
	p.Expect("Keeping the last good set", "proxy.yaml")
	p.Expect("file  ADD     default/proxy-node-1")
	p.Stop()
}
