package wire

import (
	"fmt"
	"io"
)

const (
	// A list's buffer takes a few of a body's chunks (HTTP/2 frames and TLS
	// records are 16 KiB) and a dozen Pods: fewer objects lie across its end.
	listBuffer = 64 << 10
	// Watches are many and idle, so theirs begins small.
	watchBuffer = 4 << 10
	// A watch lasts minutes: a buffer that one large object made larger than
	// this is not kept.
	watchKeeps = 256 << 10
)

// window is the part of a body that is in memory.
//
//	buf  ├──── gone ────┼──── held ────┼──── read ahead ────┼──── free ────┤
//	     0             mark           pos                  end        len(buf)
//
// What is held may move, but stays in one piece, until mark is set to pos.
// Slices of buf are valid until the next call of fill.
type window struct {
	body  io.Reader
	buf   []byte
	mark  int
	pos   int
	end   int
	base  int64 // the offset of buf[0] in the body
	limit int   // how much may be held
	err   error // how the body ended
}

// newWindow returns an empty window which holds no more than limit bytes.
func newWindow(body io.Reader, size, limit int) window {
	return window{body: body, buf: make([]byte, size), limit: limit}
}

// offset is where in the body pos is.
func (w *window) offset() int64 { return w.base + int64(w.pos) }

// ahead is what has been read and not been looked at.
func (w *window) ahead() []byte { return w.buf[w.pos:w.end] }

// release lets go of what is held.
func (w *window) release() { w.mark = w.pos }

// fill reads at least one more byte. It returns io.EOF, or what else ended the
// body, and ErrTooLarge if there is no room for more.
//
// The buffer is doubled only when all of it is held and full, so it is never
// more than twice what has been received of the largest object, whatever
// length that object claims to have.
func (w *window) fill() error {
	if w.err != nil {
		return w.err
	}
	if err := w.makeRoom(); err != nil {
		return err
	}
	// A reader may return nothing and no error; one that goes on so is broken.
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

// makeRoom sees to it that there is room for a read worth the call.
func (w *window) makeRoom() error {
	switch {
	case w.mark == w.end:
		w.base += int64(w.mark)
		w.mark, w.pos, w.end = 0, 0, 0
	case len(w.buf)-w.end > len(w.buf)/16:
	case w.mark > 0:
		w.slide(w.buf)
	case w.end < len(w.buf):
	case w.end >= w.limit:
		return w.tooLarge(int64(w.end))
	default:
		w.slide(make([]byte, min(2*len(w.buf), w.limit)))
	}
	return nil
}

// slide moves what is held, and what was read ahead, to the beginning of buf.
func (w *window) slide(buf []byte) {
	copy(buf, w.buf[w.mark:w.end])
	w.base += int64(w.mark)
	w.pos, w.end, w.mark = w.pos-w.mark, w.end-w.mark, 0
	w.buf = buf
}

// tooLarge is the error for an object of at least size bytes.
func (w *window) tooLarge(size int64) error {
	return fmt.Errorf("%w: %d bytes or more, the limit is %d", ErrTooLarge, size, w.limit)
}

// need reads until n bytes are ahead.
func (w *window) need(n int) error {
	for w.end-w.pos < n {
		if err := w.fill(); err != nil {
			return cutShort(err)
		}
	}
	return nil
}

// discard passes over n bytes without holding them.
func (w *window) discard(n int64) error {
	for {
		step := min(n, int64(w.end-w.pos))
		w.pos += int(step)
		w.release()
		if n -= step; n == 0 {
			return nil
		}
		if err := w.fill(); err != nil {
			return cutShort(err)
		}
	}
}

// shrink gives back a buffer that has become large, if little is in it.
func (w *window) shrink() {
	w.release()
	if len(w.buf) > watchKeeps && w.end-w.mark <= watchBuffer {
		w.slide(make([]byte, watchBuffer))
	}
}

// preview quotes the beginning of what is ahead, for an error.
func (w *window) preview() string {
	for w.end-w.pos <= excerptLength {
		if w.fill() != nil {
			break
		}
	}
	return excerpt(w.ahead())
}

// cutShort is the error of a body that ended where more of it had to come.
func cutShort(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
