// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/testing/envelope"
)

// Packed holds the first objects of a set, compressed by internal/pack, so that a million objects
// fit into a few hundred megabytes. Unpacking one takes about a microsecond and returns exactly the
// encoder's bytes. A Packed is immutable.
type Packed struct {
	envelope envelope.Envelope
	objects  []pack.Object
	ends     []int64 // the end of each object in a protobuf list, counted from the first item
}

// PackPods packs the first n Pods of a set.
func PackPods(perWorkload PodsPerWorkload, n int) (*Packed, error) {
	pods := NewPods(perWorkload, 1)
	return packAll(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, false, n, func(i int) (metav1.Object, []byte, error) {
		return encoded(pods.Pod(i))
	})
}

// PackNodes packs the first n nodes of a set.
func PackNodes(n int) (*Packed, error) {
	nodes := NewNodes(1)
	return packAll(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, false, n, func(i int) (metav1.Object, []byte, error) {
		return encoded(nodes.Node(i))
	})
}

// PackCustomResources packs the first n custom resources of a set, in JSON.
func PackCustomResources(n int) (*Packed, error) {
	resources := NewCustomResources(1)
	return packAll(CustomResourceKind(), true, n, func(i int) (metav1.Object, []byte, error) {
		object := resources.CustomResource(i)
		raw, err := json.Marshal(object.Object)
		return object, raw, err
	})
}

func encoded(object Object) (metav1.Object, []byte, error) {
	raw, err := object.Marshal()
	return object, raw, err
}

// batchSize is how many consecutive objects a goroutine makes. It is a multiple of 20, so that each
// workload of 20 Pods is made once.
const batchSize = 1000

// packAll makes and packs n objects on all processors.
func packAll(gvk schema.GroupVersionKind, inJSON bool, n int, object func(i int) (metav1.Object, []byte, error)) (*Packed, error) {
	p := &Packed{
		envelope: envelope.Of(gvk.GroupVersion().String(), gvk.Kind, inJSON),
		objects:  make([]pack.Object, n),
		ends:     make([]int64, n),
	}
	packer := pack.New()
	var group sync.WaitGroup
	errs := make(chan error, 1)
	batches := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for first := range batches {
				for i := first; i < min(first+batchSize, n); i++ {
					if err := p.pack(packer, i, object); err != nil {
						select {
						case errs <- fmt.Errorf("%s %d: %w", gvk.Kind, i, err):
						default:
						}
						break
					}
				}
			}
		})
	}
	for first := 0; first < n; first += batchSize {
		batches <- first
	}
	close(batches)
	group.Wait()
	for i := 1; i < n; i++ {
		p.ends[i] += p.ends[i-1]
	}
	select {
	case err := <-errs:
		return nil, err
	default:
		return p, nil
	}
}

// pack packs the i-th object and sets its end to its own length.
func (p *Packed) pack(packer *pack.Packer, i int, object func(i int) (metav1.Object, []byte, error)) error {
	meta, raw, err := object(i)
	if err != nil {
		return err
	}
	owner := ""
	if controller := metav1.GetControllerOfNoCopy(meta); controller != nil {
		owner = string(controller.UID)
	}
	p.objects[i] = packer.Pack(raw, owner, pack.Object{}, pack.Excerpt{})
	p.ends[i] = envelope.ItemSize(raw)
	return nil
}

// Len returns the number of objects.
func (p *Packed) Len() int { return len(p.objects) }

// AppendRaw appends the bytes of the i-th object to dst.
func (p *Packed) AppendRaw(dst []byte, i int) ([]byte, error) { return p.objects[i].Unpack(dst) }

// ListContentType returns the content type of the lists.
func (p *Packed) ListContentType() string { return p.envelope.ListContentType() }

// WatchContentType returns the content type of a watch.
func (p *Packed) WatchContentType() string { return p.envelope.WatchContentType() }

// WriteList writes the body of a page of the list of the first n objects. It is safe for concurrent
// use.
func (p *Packed) WriteList(to io.Writer, n int, page Page) error {
	meta := listMeta(n)
	page.setRest(&meta, n)
	list, err := p.envelope.NewListWriter(to, meta, p.size(page.End)-p.size(page.First))
	if err != nil {
		return err
	}
	var raw []byte
	for _, object := range p.objects[page.First:page.End] {
		if raw, err = object.Unpack(raw[:0]); err != nil {
			return err
		}
		if err := list.Write(raw); err != nil {
			return err
		}
	}
	return list.Close()
}

// size returns the size of the first n items of a protobuf list, in bytes.
func (p *Packed) size(n int) int64 {
	if n == 0 {
		return 0
	}
	return p.ends[n-1]
}
