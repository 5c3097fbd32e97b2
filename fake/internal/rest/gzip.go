// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

const (
	// compressFrom is the minimum size of a compressed body in bytes, as in the real server.
	compressFrom  = 128 << 10
	compressLevel = gzip.BestSpeed
)

// compressor writes an answer, compressed if the client accepts gzip and the body is large. It
// buffers the body until its size reaches compressFrom.
type compressor struct {
	http.ResponseWriter
	zippers  *sync.Pool // of *gzip.Writer
	code     int        // status code of the answer
	accepts  bool       // the client accepts gzip
	buffered []byte
	body     io.Writer // set by begin
	zipper   *gzip.Writer
}

func (h *Handler) compressor(w http.ResponseWriter, r *http.Request) *compressor {
	return &compressor{ResponseWriter: w, zippers: &h.zippers, code: http.StatusOK, accepts: acceptsGzip(r.Header.Get("Accept-Encoding"))}
}

func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		encoding, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(encoding), "gzip") && strings.TrimSpace(quality) != "q=0" {
			return true
		}
	}
	return false
}

// Write implements io.Writer.
func (c *compressor) Write(data []byte) (int, error) {
	if c.body != nil {
		return c.body.Write(data)
	}
	c.buffered = append(c.buffered, data...)
	if len(c.buffered) < compressFrom {
		return len(data), nil
	}
	return len(data), c.begin()
}

// begin sends the header and the buffered bytes, compressed if the body is large.
func (c *compressor) begin() error {
	c.body = c.ResponseWriter
	if c.accepts && len(c.buffered) >= compressFrom {
		zipper, err := c.newZipper()
		if err != nil {
			return err
		}
		c.zipper, c.body = zipper, zipper
		c.Header().Set("Content-Encoding", "gzip")
		c.Header().Add("Vary", "Accept-Encoding")
	}
	c.WriteHeader(c.code)
	_, err := c.body.Write(c.buffered)
	c.buffered = nil
	return err
}

func (c *compressor) newZipper() (*gzip.Writer, error) {
	if zipper, ok := c.zippers.Get().(*gzip.Writer); ok {
		zipper.Reset(c.ResponseWriter)
		return zipper, nil
	}
	return gzip.NewWriterLevel(c.ResponseWriter, compressLevel)
}

// Close writes the buffered rest of the answer.
func (c *compressor) Close() error {
	var err error
	if c.body == nil {
		err = c.begin()
	}
	if c.zipper != nil {
		err = errors.Join(err, c.zipper.Close())
		c.zippers.Put(c.zipper)
		c.zipper = nil
	}
	return err
}

// abort ends an answer that could not be encoded. If nothing was sent, it returns err, which can
// still be answered. Otherwise it panics to close the connection, so that the client detects the
// truncated answer.
func (c *compressor) abort(err error) error {
	if c.body == nil {
		return err
	}
	panic(http.ErrAbortHandler)
}
