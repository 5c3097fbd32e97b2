// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/history"
)

// decodePipeline adds the items of a list to a replacement. Decoding is most of the work of a list.
// If the items are bytes, and fill more than one batch, the pipeline decodes them on all processors
// before it adds them, one by one and in the list's order:
//
//	source ──▶ batch ──▶ toDecode ──▶ workers
//	             │                       │ decoded
//	             └─────▶ toAdd ─────▶ collector ──▶ replacement.Add
//
// A batch without an object to decode, as for a sink that keeps bytes, skips the workers.
// Items that fit one batch, or are decoded already, are added without another goroutine.
type decodePipeline struct {
	replacement feed.Replacement
	listed      *history.List // receives each item
	maxInFlight int           // bytes

	current    *batch      // is being filled; may be nil
	toDecode   chan *batch // nil until the first batch is full
	toAdd      chan *batch // the same batches, in order
	free       chan *batch // for reuse
	inFlight   int         // bytes of the batches that were sent and not received from added
	added      chan int    // the bytes of each batch whose items were added
	goroutines sync.WaitGroup
	discard    atomic.Bool // the list failed: the remaining items are not added
	err        error       // with which the collector ended; to be read once goroutines have ended
}

const (
	// batchBytes is the size at which a batch is passed to a worker. Decoding it takes some hundred
	// microseconds, much longer than passing it on.
	batchBytes = 64 << 10
	// batchItems is the number of items at which a batch is passed to a worker if it has fewer
	// bytes, as if some pages of a list were decoded by the client.
	batchItems = 1024
	// maxReuseBytes is the largest buffer that is kept for another batch.
	maxReuseBytes = 4 * batchBytes
	// DefaultInFlight bounds the bytes of the batches that are being decoded and added, which a
	// list of large objects would fill on a machine with many processors. One batch may exceed it.
	DefaultInFlight = 16 << 20
)

// batch is a sequence of items and their bytes.
type batch struct {
	items   []feed.Item
	needs   []feed.Need // for each item
	ends    []int       // of each item's bytes in buffer
	buffer  []byte      // the items' bytes
	decoded chan struct{}
}

// newDecodePipeline returns a pipeline with at most maxInFlight bytes in flight.
func newDecodePipeline(replacement feed.Replacement, listed *history.List, maxInFlight int) *decodePipeline {
	return &decodePipeline{replacement: replacement, listed: listed, maxInFlight: maxInFlight}
}

// add adds an item. It copies the strings of the item, and item.Raw, edited if its codec edits,
// unless the sink holds the item already, as it does most items of a relist.
func (p *decodePipeline) add(item feed.Item) {
	need, known := p.replacement.Needs(item)
	if item.Known = known; need != feed.NeedsIdentity {
		item = item.Owned()
	}
	p.listed.Add(item)
	item.Received = nil // which would live as long as the list is incomplete
	if item.Object != nil && p.current == nil && p.toDecode == nil {
		p.replacement.Add(item)
		return
	}
	if p.current == nil {
		p.current = p.newBatch()
	}
	b := p.current
	if need != feed.NeedsIdentity {
		b.copyRaw(&item)
	}
	b.needs = append(b.needs, need)
	b.items, b.ends = append(b.items, item), append(b.ends, len(b.buffer))
	if len(b.buffer) >= batchBytes || len(b.items) >= batchItems {
		p.send()
	}
}

// copyRaw copies the bytes of an item. If its codec edits them, it copies the edited ones, and the
// item becomes the one of these.
func (b *batch) copyRaw(item *feed.Item) {
	if codec, ok := item.Codec.(feed.EditingCodec); ok {
		edited, of, ok := codec.Edit(b.buffer, *item)
		if ok {
			b.buffer, *item = edited, of
			return
		}
		b.buffer = edited[:len(b.buffer)]
	}
	b.buffer = append(b.buffer, item.Raw...)
}

// finish blocks until all items are added. If discard is true it drops the items that are not added
// yet. It returns an error if not all items were added, although discard is false. It frees the
// batches: net/http's idle connection references the context of its last request, and so the
// pipeline.
func (p *decodePipeline) finish(discard bool) error {
	if p.toDecode == nil {
		if p.current != nil && !discard {
			p.current.seal()
			p.addItems(p.current)
		}
		p.current = nil
		return nil
	}
	if discard {
		p.discard.Store(true)
	}
	if p.current != nil && !discard {
		p.send()
	}
	close(p.toDecode)
	close(p.toAdd)
	p.goroutines.Wait()
	p.current, p.free = nil, nil
	return p.err
}

// newBatch returns an empty batch, a used one if possible. The buffer of the first one grows: most
// lists are short.
func (p *decodePipeline) newBatch() *batch {
	if p.toDecode == nil {
		return &batch{}
	}
	select {
	case b := <-p.free:
		return b
	default:
		return &batch{buffer: make([]byte, 0, batchBytes+batchBytes/4)}
	}
}

// send passes the current batch to the workers and the collector. It starts them if necessary.
func (p *decodePipeline) send() {
	if p.toDecode == nil {
		p.start(runtime.GOMAXPROCS(0))
	}
	b := p.current
	p.current = nil
	b.seal()
	b.decoded = make(chan struct{})
	p.awaitRoom(len(b.buffer))
	if slices.Contains(b.needs, feed.NeedsObject) {
		p.toDecode <- b
	} else {
		close(b.decoded)
	}
	p.toAdd <- b
}

// awaitRoom blocks until a batch of n bytes may be in flight.
func (p *decodePipeline) awaitRoom(n int) {
	for p.inFlight > 0 && p.inFlight+n > p.maxInFlight {
		p.inFlight -= <-p.added
	}
	for len(p.added) > 0 {
		p.inFlight -= <-p.added
	}
	p.inFlight += n
}

func (p *decodePipeline) start(workers int) {
	p.toDecode = make(chan *batch, workers)
	p.toAdd = make(chan *batch, 2*workers)
	p.free = make(chan *batch, 4*workers)
	p.added = make(chan int, cap(p.toAdd)+2) // room for all batches in flight, so that the collector never blocks
	for range workers {
		p.goroutines.Go(func() {
			for b := range p.toDecode {
				p.decode(b)
			}
		})
	}
	p.goroutines.Go(p.runCollector)
}

// runCollector adds the batches. If Add, which calls functions of the program, panics or ends the
// goroutine, the list has failed, and the remaining batches are dropped.
func (p *decodePipeline) runCollector() {
	err := feed.ErrGoexit
	defer func() {
		if err != nil {
			p.err = err
			p.discard.Store(true)
			_ = p.collectAll()
		}
	}()
	err = p.collectAll()
}

// collectAll adds the batches until the list ends. A panic is a *feed.PanicError.
func (p *decodePipeline) collectAll() (err error) {
	defer feed.RecoverPanic("adding an object of a list", &err)
	for b := range p.toAdd {
		<-b.decoded
		p.collect(b)
	}
	return nil
}

// seal sets Raw of the items, nil for those whose bytes were dropped. It is called when the buffer
// is complete and does not move any more.
func (b *batch) seal() {
	begin := 0
	for i, end := range b.ends {
		b.items[i].Raw = nil
		if begin < end {
			b.items[i].Raw = b.buffer[begin:end:end]
		}
		begin = end
	}
}

// decode decodes the objects that the replacement needs. It leaves an item that does not decode to
// the replacement, which decodes it again and reports the error.
func (p *decodePipeline) decode(b *batch) {
	defer close(b.decoded)
	for i := range b.items {
		if item := &b.items[i]; item.Object == nil && b.needs[i] == feed.NeedsObject && !p.discard.Load() {
			if object, err := feed.CatchPanic(item.Decoded); err == nil {
				item.Object = object
			}
		}
	}
}

// collect adds the items of a batch from a worker.
func (p *decodePipeline) collect(b *batch) {
	defer func(n int) { p.added <- n }(len(b.buffer))
	p.addItems(b)
	p.recycle(b)
}

// addItems adds the items of a batch.
func (p *decodePipeline) addItems(b *batch) {
	for _, item := range b.items {
		if !p.discard.Load() {
			p.replacement.Add(item)
		}
	}
}

func (p *decodePipeline) recycle(b *batch) {
	if cap(b.buffer) > maxReuseBytes {
		return
	}
	clear(b.items)
	*b = batch{items: b.items[:0], needs: b.needs[:0], ends: b.ends[:0], buffer: b.buffer[:0]}
	select {
	case p.free <- b:
	default:
	}
}
