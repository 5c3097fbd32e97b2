// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command build builds the control plane of the end-to-end tests, if it is not built yet, and
// prints its folder. "make e2e" runs it first, so that the build does not count against the tests'
// timeout.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/kinformer/kinformer/e2e/binaries"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	set, err := binaries.Build(ctx, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
	fmt.Println(set.Dir())
}
