// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrDeclined is the error for an answer other than yes. The end of the input is one.
var ErrDeclined = errors.New("answer y, or give --yes")

// Confirm asks a question. If the answer is not yes, it returns an error with the consequence, such
// as "nothing was read", that wraps ErrDeclined.
func Confirm(ctx context.Context, streams Streams, question, consequence string) error {
	fmt.Fprintf(streams.Err, "%s [y/N] ", question)
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
		return fmt.Errorf("%s; %w", consequence, ErrDeclined)
	}
}
