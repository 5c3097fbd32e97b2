// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

// programVariable is an environment variable with which the test binary runs as the program.
const programVariable = "KUBEMANAGER"

// shared is the cluster of all tests. Each test has its own namespace, and they run one after the
// other.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		go func() { // so that it does not outlive the test process
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(2)
		}()
		main()
		return
	}
	code := m.Run()
	if err := stopShared(code != 0); err != nil {
		fmt.Fprintln(os.Stderr, "stop the shared cluster:", err)
		code = 1
	}
	os.Exit(goroutines.Verify(code))
}

func stopShared(failed bool) error {
	switch {
	case shared == nil:
		return nil
	case failed:
		return shared.StopKeepingLogs()
	default:
		return shared.Stop()
	}
}
