package dataset

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/internal/pack"
)

// Stored holds the first objects of a set, packed as the library packs them, so that
// a million fit into a few hundred megabytes and are there again in a microsecond
// each. What a list is made of is what the encoder has made, byte by byte: packed
// objects have checksums. It is immutable.
type Stored struct {
	gvk     schema.GroupVersionKind
	json    bool
	objects []pack.Object
	ends    []int64 // of each object among all of them in protobuf, tags and lengths included
}

// StorePods stores the first n Pods of a set.
func StorePods(replicas Replicas, n int) (*Stored, error) {
	pods := NewPods(replicas, 1)
	return store(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, n, func(i int) (metav1.Object, []byte, error) {
		return encoded(pods.Pod(i))
	})
}

// StoreNodes stores the first n nodes of a set.
func StoreNodes(n int) (*Stored, error) {
	nodes := NewNodes(1)
	return store(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, n, func(i int) (metav1.Object, []byte, error) {
		return encoded(nodes.Node(i))
	})
}

// StoreCustomResources stores the first n custom resources of a set, in JSON.
func StoreCustomResources(n int) (*Stored, error) {
	resources := NewCustomResources(1)
	s, err := store(CustomResourceKind(), n, func(i int) (metav1.Object, []byte, error) {
		object := resources.CustomResource(i)
		raw, err := json.Marshal(object.Object)
		return object, raw, err
	})
	if err == nil {
		s.json = true
	}
	return s, err
}

func encoded(object Object) (metav1.Object, []byte, error) {
	raw, err := object.Marshal()
	return object, raw, err
}

// storeRun is how many objects are drawn at a time: a multiple of the replicas of
// each set but R3, as a shape is drawn once for its Pods.
const storeRun = 1000

// store draws objects on all processors: that takes longer than anything else.
func store(gvk schema.GroupVersionKind, n int, draw func(i int) (metav1.Object, []byte, error)) (*Stored, error) {
	s := &Stored{gvk: gvk, objects: make([]pack.Object, n), ends: make([]int64, n)}
	packer := pack.New()
	var group sync.WaitGroup
	errs := make(chan error, 1)
	runs := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for first := range runs {
				for i := first; i < min(first+storeRun, n); i++ {
					if err := s.put(packer, i, draw); err != nil {
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
	for first := 0; first < n; first += storeRun {
		runs <- first
	}
	close(runs)
	group.Wait()
	for i := 1; i < n; i++ {
		s.ends[i] += s.ends[i-1]
	}
	select {
	case err := <-errs:
		return nil, err
	default:
		return s, nil
	}
}

// put stores the i-th object. Its end is its own length for now.
func (s *Stored) put(packer *pack.Packer, i int, draw func(i int) (metav1.Object, []byte, error)) error {
	object, raw, err := draw(i)
	if err != nil {
		return err
	}
	owner := ""
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		owner = string(controller.UID)
	}
	s.objects[i] = packer.Pack(raw, owner, pack.Object{})
	s.ends[i] = int64(len(appendField(nil, tagListItem, raw)))
	return nil
}

// Len returns the number of objects.
func (s *Stored) Len() int { return len(s.objects) }

// ContentType returns that of the lists.
func (s *Stored) ContentType() string {
	if s.json {
		return "application/json"
	}
	return "application/vnd.kubernetes.protobuf"
}

// WriteList writes the body of a list of the first n objects. It may be called by
// several goroutines at once.
func (s *Stored) WriteList(to io.Writer, n int) error {
	w := bufio.NewWriterSize(to, 256<<10)
	var err error
	if s.json {
		err = s.writeJSON(w, n)
	} else {
		err = s.writeProtobuf(w, n)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

func (s *Stored) writeProtobuf(w *bufio.Writer, n int) error {
	meta, err := (&metav1.ListMeta{ResourceVersion: Version(n)}).Marshal()
	if err != nil {
		return err
	}
	head := appendField(nil, tag1, meta)
	envelope := &Encoded{apiVersion: s.gvk.GroupVersion().String(), kind: s.gvk.Kind}
	_, _ = w.Write(append(envelope.open(s.gvk.Kind+"List", len(head)+int(s.size(n))), head...)) // the error stays, until Flush
	var raw, framed []byte
	for _, object := range s.objects[:n] {
		if raw, err = object.Unpack(raw[:0]); err != nil {
			return err
		}
		framed = appendField(framed[:0], tagListItem, raw)
		if _, err := w.Write(framed); err != nil {
			return err
		}
	}
	_, err = w.Write(closing())
	return err
}

func (s *Stored) size(n int) int64 {
	if n == 0 {
		return 0
	}
	return s.ends[n-1]
}

func (s *Stored) writeJSON(w *bufio.Writer, n int) error {
	separator := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":%q},"items":[`,
		s.gvk.GroupVersion(), s.gvk.Kind+"List", Version(n))
	var raw []byte
	var err error
	for _, object := range s.objects[:n] {
		if raw, err = object.Unpack(raw[:0]); err != nil {
			return err
		}
		_, _ = w.WriteString(separator) // the error stays
		if _, err := w.Write(raw); err != nil {
			return err
		}
		separator = ","
	}
	if n == 0 {
		_, _ = w.WriteString(separator)
	}
	_, err = w.WriteString("]}")
	return err
}
