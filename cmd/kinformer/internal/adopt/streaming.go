// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"io"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/pullrequest"
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

// Preview is what the command would do.
type Preview struct {
	Streaming *Streaming
	Lines     pullrequest.Lines // without those of tests
	Edited    map[string][]byte // the edited sources, by path
}

// FindPreview edits the program in the current directory in memory, and writes nothing. packed
// reports whether its informers are to be packed. progress receives a line for each step. kinformer
// is the folder of kinformer's source. flags are those of go list.
func FindPreview(ctx context.Context, progress io.Writer, kinformer string, packed bool, patterns []string, flags ...string) (*Preview, error) {
	p, err := load(ctx, progress, patterns, flags...)
	if err != nil {
		return nil, err
	}
	a, err := rewrite(ctx, p, kinformer, &options{packed: packed})
	if err != nil {
		return nil, err
	}
	preview := &Preview{Streaming: a.streaming(), Edited: map[string][]byte{}}
	for _, pkg := range p.packages {
		for _, s := range pkg.sources {
			if len(s.edits) == 0 {
				continue
			}
			text, err := s.result()
			if err != nil {
				return nil, err
			}
			preview.Lines.Add(s.text, text)
			preview.Edited[s.path] = text
		}
	}
	return preview, nil
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
