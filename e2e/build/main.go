// Command build makes sure that the control plane of the end-to-end tests is built, and prints the folder that it is in.
// make e2e runs it first, so that minutes of compiling do not count against the time limit of the tests.
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
