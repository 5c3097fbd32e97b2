package pack

import (
	"fmt"
	"sync"
)

// workspace is what packing and unpacking need for the time being. It remembers
// the base that it unpacked last: siblings come one after the other.
type workspace struct {
	encoder encoder
	base    *source
	raw     []byte
}

// maxKept is the size of buffers that are worth keeping.
const maxKept = 1 << 20

// unpack returns the bytes of a base, until the next call.
func (w *workspace) unpack(base *source) ([]byte, error) {
	if w.base == base {
		return w.raw, nil
	}
	w.base = nil
	raw, err := base.object.Unpack(w.raw[:0])
	if err != nil {
		return nil, fmt.Errorf("the sibling that it is packed against: %w", err)
	}
	w.base, w.raw = base, raw
	return raw, nil
}

// desk has workspaces for everybody who packs or unpacks.
type desk struct{ pool sync.Pool }

func (d *desk) get() *workspace {
	if w, ok := d.pool.Get().(*workspace); ok {
		return w
	}
	return new(workspace)
}

func (d *desk) put(w *workspace) {
	w.encoder.raw, w.encoder.source = nil, nil
	if cap(w.raw)+cap(w.encoder.out) <= maxKept {
		d.pool.Put(w)
	}
}
