// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/kinformer/kinformer/examples/internal/program"
)

// TestProgram runs the manager until its controller has counted the Pods of each Namespace.
func TestProgram(t *testing.T) {
	p := program.Start(t, "-address", "127.0.0.1:0")
	p.ExpectEach([]string{"Counted Pods", `namespace="mail"`, `pods="4"`}, []string{"Counted Pods", `namespace="search"`, `pods="6"`}, []string{"Counted Pods", `namespace="shop"`, `pods="4"`})
	p.Stop()
}
