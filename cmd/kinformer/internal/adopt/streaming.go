// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"io"
)

// Streaming is the number of informers of a program once it is rewritten, and those that do not
// stream: whose client decodes lists as a whole.
type Streaming struct {
	Informers    int            `json:"informers"` // call sites of informers, factories and reflectors, without those in tests
	NotStreaming []NotStreaming `json:"notStreaming,omitempty"`
}

// NotStreaming is a call site of an informer that does not stream.
type NotStreaming struct {
	File  string `json:"file"` // relative to the folder of go.mod
	Line  int    `json:"line"` // before the program is rewritten
	Write string `json:"write"`
}

// FindStreaming finds the informers of the program in the current directory, and writes nothing.
// kinformer is the folder of kinformer's source. progress receives a line for each step. flags are
// those of go list.
func FindStreaming(ctx context.Context, progress io.Writer, kinformer string, patterns []string, flags ...string) (*Streaming, error) {
	p, err := load(ctx, progress, patterns, flags...)
	if err != nil {
		return nil, err
	}
	a, err := rewrite(ctx, p, kinformer, &options{})
	if err != nil {
		return nil, err
	}
	return a.streaming(), nil
}

// Print prints the numbers, and a line for each informer that does not stream. It prints nothing if
// there are no informers.
func (s *Streaming) Print(out io.Writer) {
	if s.Informers == 0 {
		return
	}
	fmt.Fprintf(out, "%d of %d informers stream.", s.Informers-len(s.NotStreaming), s.Informers)
	if len(s.NotStreaming) > 0 {
		fmt.Fprint(out, " These do not:")
	}
	fmt.Fprintln(out)
	for _, n := range s.NotStreaming {
		fmt.Fprintf(out, "%s:%d: %s\n", n.File, n.Line, n.Write)
	}
}
