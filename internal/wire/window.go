// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"io"
)

const (
	// listBuffer holds several chunks of a body (HTTP/2 frames and TLS records are 16 KiB) and a
	// dozen Pods, so that few objects cross its end.
	listBuffer = 64 << 10
	// watchBuffer is small, because a process has many watches and most are idle. The buffer grows
	// to the size of the watch's objects.
	watchBuffer = 1 << 10
	// maxIdleWatchBuffer is the maximum buffer that a watch keeps after a large object.
	maxIdleWatchBuffer = 256 << 10
)

// window buffers a part of a body.
//
//	buf  ├── released ──┼──── held ────┼──── unread ────┼──── free ────┤
//	     0             mark           pos              end         len(buf)
//
// The held bytes are contiguous until release is called, but fill may move them. Slices of buf are
// valid until the next call of fill.
type window struct {
	body io.Reader
	buf  []byte
	mark int
	pos  int
	end  int
	base int64 // offset of buf[0] in the body
	err  error // the error, or io.EOF, that ended the body

	erase bool // overwrite buffers after use

	limit       bound // of the held bytes
	headerLimit bound // of those that are no watched object
}

// bound is a maximum number of bytes.
type bound struct {
	name  string // of the option of package cache, for errors
	bytes int
}

// check returns an error if size exceeds the bound.
func (b bound) check(size int64) error {
	if size <= int64(b.bytes) {
		return nil
	}
	return b.tooLarge(size)
}

// tooLarge returns the error for something of at least size bytes.
func (b bound) tooLarge(size int64) error {
	return fmt.Errorf("%w: at least %d bytes, %s is %d", ErrTooLarge, size, b.name, b.bytes)
}

// newWindow returns an empty window with a buffer of size bytes.
func newWindow(body io.Reader, size int, options *Options) window {
	w := window{body: body, buf: make([]byte, size), erase: options.Erase}
	w.limit, w.headerLimit = options.limits()
	return w
}

// offset returns the offset of pos in the body.
func (w *window) offset() int64 { return w.base + int64(w.pos) }

// unread returns the bytes that are in the buffer and have not been consumed.
func (w *window) unread() []byte { return w.buf[w.pos:w.end] }

// release releases the held bytes, so that fill may overwrite them.
func (w *window) release() { w.mark = w.pos }

// fill reads at least one byte of the body into the buffer. It returns io.EOF or the error that
// ended the body, and ErrTooLarge if the buffer is full and cannot grow.
//
// The buffer doubles only when it is full of held bytes. Its size is therefore at most twice the
// received part of the largest object, whatever length prefix that object has.
func (w *window) fill() error {
	if w.err != nil {
		return w.err
	}
	if err := w.makeRoom(); err != nil {
		return err
	}
	// A reader may return 0, nil, but not forever.
	for range 100 {
		n, err := w.body.Read(w.buf[w.end:])
		w.end += n
		w.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	w.err = io.ErrNoProgress
	return w.err
}

// makeRoom makes room for a read of a useful size.
func (w *window) makeRoom() error {
	switch {
	case w.mark == w.end:
		w.base += int64(w.mark)
		w.mark, w.pos, w.end = 0, 0, 0
	case len(w.buf)-w.end > len(w.buf)/16:
	case w.mark > 0:
		w.slide(w.buf)
	case w.end < len(w.buf):
	case w.end >= w.limit.bytes:
		return w.tooLarge(int64(w.end))
	default:
		w.replace(min(2*len(w.buf), w.limit.bytes))
	}
	return nil
}

// slide moves the held and unread bytes to the beginning of buf, which becomes the buffer.
func (w *window) slide(buf []byte) {
	copy(buf, w.buf[w.mark:w.end])
	w.base += int64(w.mark)
	w.pos, w.end, w.mark = w.pos-w.mark, w.end-w.mark, 0
	w.buf = buf
}

// replace makes a new buffer of size bytes the buffer.
func (w *window) replace(size int) {
	old := w.buf
	w.slide(make([]byte, size))
	if w.erase {
		clear(old)
	}
}

// close overwrites the buffer if that is an option. No slice of it may be used afterwards.
func (w *window) close() {
	if w.erase {
		clear(w.buf)
	}
}

// tooLarge returns the error for an object of at least size bytes.
func (w *window) tooLarge(size int64) error { return w.limit.tooLarge(size) }

// need reads until n bytes are unread.
func (w *window) need(n int) error {
	for w.end-w.pos < n {
		if err := w.fill(); err != nil {
			return noEOF(err)
		}
	}
	return nil
}

// discard skips n bytes without holding them.
func (w *window) discard(n int64) error {
	for {
		step := min(n, int64(w.end-w.pos))
		w.pos += int(step)
		w.release()
		if n -= step; n == 0 {
			return nil
		}
		if err := w.fill(); err != nil {
			return noEOF(err)
		}
	}
}

// shrink replaces a large buffer that holds few bytes by a small one.
func (w *window) shrink() {
	w.release()
	if len(w.buf) > maxIdleWatchBuffer && w.end-w.mark <= watchBuffer {
		w.replace(watchBuffer)
	}
}

// noEOF returns err, or io.ErrUnexpectedEOF if err is io.EOF.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
