// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinformer/kinformer/e2e/cluster"
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
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
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
