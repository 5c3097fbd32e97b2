package reflector

import (
	"runtime"
	"sync"
	"sync/atomic"

	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/feed"
)

// ahead takes the items of a list to its state. Decoding is most of the work of a
// list, so where items come as bytes, and are many, it is done on all processors,
// ahead of the state, which still gets the items one by one and in the list's
// order:
//
//	source ──▶ batch ──▶ todo ────▶ workers decode
//	             │                      │ decoded
//	             └────▶ ordered ────▶ collector ──▶ state.Add
//
// A list that fits one batch, or comes as objects, is added without any goroutine.
type ahead struct {
	state feed.Replacement

	current *batch      // being filled; nil: none
	todo    chan *batch // to the workers; nil until the second batch
	ordered chan *batch // the same batches to the collector
	free    chan *batch // to be filled again
	running sync.WaitGroup
	dropped atomic.Bool // the list failed: nothing more is to be added
}

const (
	// A batch is sent to be decoded when it holds this many bytes. That is work
	// for some hundred microseconds: enough to make a hand-over cheap, and little
	// memory for a few of them to be on their way.
	batchBytes = 64 << 10
	// batchItems is the same for those which have few bytes or, where a page of a
	// list came as objects after one in bytes, none.
	batchItems = 1024
	// keepBytes is the buffer that is kept for the next batch; a huge object's is
	// not.
	keepBytes = 4 * batchBytes
)

// batch is a run of items and the bytes that they are made of.
type batch struct {
	items   []feed.Item
	needs   []feed.Need // of each item
	ends    []int       // of each item's bytes in buffer
	buffer  []byte      // the items' bytes, one after the other
	decoded chan struct{}
}

func newAhead(state feed.Replacement) *ahead { return &ahead{state: state} }

// add takes an item over. Its bytes are copied, unless the sink has it already: most
// of a relist is such.
func (a *ahead) add(item feed.Item) {
	if item.Object != nil && a.current == nil && a.todo == nil {
		a.state.Add(item)
		return
	}
	if a.current == nil {
		a.current = a.empty()
	}
	b, need := a.current, a.state.Needs(item)
	if need != feed.NeedsIdentity {
		b.buffer = append(b.buffer, item.Raw...)
	}
	b.needs = append(b.needs, need)
	b.items, b.ends = append(b.items, item), append(b.ends, len(b.buffer))
	if len(b.buffer) >= batchBytes || len(b.items) >= batchItems {
		a.send()
	}
}

// finish returns once every item was added. With drop, those that were not yet
// never are.
func (a *ahead) finish(drop bool) {
	if a.todo == nil {
		if a.current != nil && !drop {
			a.current.seal()
			a.collect(a.current)
		}
		return
	}
	a.dropped.Store(drop)
	if a.current != nil && !drop {
		a.send()
	}
	close(a.todo)
	close(a.ordered)
	a.running.Wait()
}

// empty returns a batch to fill.
func (a *ahead) empty() *batch {
	select {
	case b := <-a.free:
		return b
	default:
		return &batch{buffer: make([]byte, 0, batchBytes+batchBytes/4)}
	}
}

// send gives the current batch to a worker and to the collector, whom it starts
// at the first one.
func (a *ahead) send() {
	if a.todo == nil {
		a.start(runtime.GOMAXPROCS(0))
	}
	b := a.current
	a.current = nil
	b.seal()
	b.decoded = make(chan struct{})
	a.todo <- b
	a.ordered <- b
}

func (a *ahead) start(workers int) {
	a.todo = make(chan *batch, workers)
	a.ordered = make(chan *batch, 2*workers)
	a.free = make(chan *batch, 4*workers)
	for range workers {
		a.running.Go(func() {
			for b := range a.todo {
				a.decode(b)
			}
		})
	}
	a.running.Go(func() {
		for b := range a.ordered {
			<-b.decoded
			a.collect(b)
			a.recycle(b)
		}
	})
}

// seal points the items at their bytes, which do not move any more.
func (b *batch) seal() {
	begin := 0
	for i, end := range b.ends {
		b.items[i].Raw = b.buffer[begin:end:end]
		begin = end
	}
}

// decode decodes what the sink will ask for. An object that does not decode is
// left to the sink, which meets the error again and reports it.
func (a *ahead) decode(b *batch) {
	defer close(b.decoded)
	for i := range b.items {
		if item := &b.items[i]; item.Object == nil && b.needs[i] == feed.NeedsObject && !a.dropped.Load() {
			item.Object = decode(*item)
		}
	}
}

// decode returns an item's object, nil if it does not decode.
func decode(item feed.Item) (obj apiruntime.Object) {
	defer func() {
		if recover() != nil {
			obj = nil
		}
	}()
	obj, err := item.Decoded()
	if err != nil {
		return nil
	}
	return obj
}

func (a *ahead) collect(b *batch) {
	for _, item := range b.items {
		if !a.dropped.Load() {
			a.state.Add(item)
		}
	}
}

func (a *ahead) recycle(b *batch) {
	if cap(b.buffer) > keepBytes {
		return
	}
	clear(b.items)
	*b = batch{items: b.items[:0], needs: b.needs[:0], ends: b.ends[:0], buffer: b.buffer[:0]}
	select {
	case a.free <- b:
	default:
	}
}
