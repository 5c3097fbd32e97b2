// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"

	"github.com/kinformer/kinformer/examples/internal/program"
	"github.com/kinformer/kinformer/fake"
)

// TestProgram runs the example until Widgets have been served, deleted, and served again.
func TestProgram(t *testing.T) {
	t.Parallel()
	p := program.Start(t)
	p.Expect("widgets awaited")
	p.ExpectEach([]string{"widgets served for the first time"}, []string{"widgets default/widget-1 appeared"})
	p.Expect("widgets default/widget-1 is gone")
	p.Expect("widgets default/widget-2 appeared")
	p.Stop()
}

// TestProgramWithCluster follows two resources of a server, one of which it serves.
func TestProgramWithCluster(t *testing.T) {
	t.Parallel()
	widgets := fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}
	server, err := fake.StartAPIServer(fake.APIServerOptions{CustomResources: []fake.CustomResource{widgets}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	if err := server.Create(widget("gear")); err != nil {
		t.Fatal(err)
	}
	p := program.Start(t, "-kubeconfig", program.Kubeconfig(t, server.Config()), "-resources", "widgets.v1.example.com,gadgets.v1.example.com")
	p.ExpectEach([]string{"widgets default/gear appeared"}, []string{"widgets served for the first time"})
	p.ExpectNoneSoFar("gadgets served")
	p.Stop()
}
