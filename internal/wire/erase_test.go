// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/internal/wire"
)

// bufferKeeper is a body that keeps the buffers into which it was read.
type bufferKeeper struct {
	io.Reader
	buffers [][]byte
}

func (k *bufferKeeper) Read(p []byte) (int, error) {
	k.buffers = append(k.buffers, p)
	return k.Reader.Read(p)
}

// TestBuffersAreErased reads an object that is larger than the first buffer.
func TestBuffersAreErased(t *testing.T) {
	text := `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"` + strings.Repeat("secret", 50_000) + `"}}]}`
	for _, erase := range []bool{true, false} {
		body := &bufferKeeper{Reader: strings.NewReader(text)}
		_, err := wire.List(body, wire.JSON, wire.Options{Erase: erase}, func(*wire.Item) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if kept := bytes.Contains(bytes.Join(body.buffers, nil), []byte("secret")); kept == erase {
			t.Errorf("Erase %v: text in the buffers: %v", erase, kept)
		}
	}
}
