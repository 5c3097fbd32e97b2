// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

// errDeclined is the error for an answer other than yes. The end of the input is one.
var errDeclined = errors.New("nothing was read; answer y, or give --yes")

// confirm asks whether to go on.
func confirm(ctx context.Context, streams command.Streams) error {
	fmt.Fprint(streams.Err, "Read them? [y/N] ")
	answer := make(chan string, 1)
	go func() { // ends with the input, or with the process
		line, _ := bufio.NewReader(streams.In).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(streams.Err)
		return context.Cause(ctx)
	case text := <-answer:
		if text == "y" || text == "yes" {
			return nil
		}
		return errDeclined
	}
}
