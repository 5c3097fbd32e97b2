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
	// compressFrom is the size from which on a body is compressed, and compressLevel how much, as in the real server.
	compressFrom  = 128 << 10
	compressLevel = gzip.BestSpeed
)

// compressor writes an answer, compressed if the client accepts that and the body is large. It holds back the first bytes until it knows.
type compressor struct {
	http.ResponseWriter
	zippers *sync.Pool
	code    int  // of the answer, sent with its first byte
	accepts bool // the client accepts gzip
	held    []byte
	body    io.Writer // where the rest goes, once it is decided
	zipper  *gzip.Writer
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
	c.held = append(c.held, data...)
	if len(c.held) < compressFrom {
		return len(data), nil
	}
	return len(data), c.decide()
}

// decide begins the answer with what was held back.
func (c *compressor) decide() error {
	c.body = c.ResponseWriter
	if c.accepts && len(c.held) >= compressFrom {
		zipper, err := c.newZipper()
		if err != nil {
			return err
		}
		c.zipper, c.body = zipper, zipper
		c.Header().Set("Content-Encoding", "gzip")
		c.Header().Add("Vary", "Accept-Encoding")
	}
	c.WriteHeader(c.code)
	_, err := c.body.Write(c.held)
	c.held = nil
	return err
}

func (c *compressor) newZipper() (*gzip.Writer, error) {
	if zipper, ok := c.zippers.Get().(*gzip.Writer); ok {
		zipper.Reset(c.ResponseWriter)
		return zipper, nil
	}
	return gzip.NewWriterLevel(c.ResponseWriter, compressLevel)
}

// Close writes what is left.
func (c *compressor) Close() error {
	var err error
	if c.body == nil {
		err = c.decide()
	}
	if c.zipper != nil {
		err = errors.Join(err, c.zipper.Close())
		c.zippers.Put(c.zipper)
		c.zipper = nil
	}
	return err
}

// abort gives up on an answer that could not be encoded. If nothing of it was sent the error can still be answered, and is returned. If some
// of it was, the connection is cut, so that no client takes the part for the whole.
func (c *compressor) abort(err error) error {
	if c.body == nil {
		return err
	}
	panic(http.ErrAbortHandler)
}
