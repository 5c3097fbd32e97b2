package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/e2e/objects"
)

// author makes, changes and deletes the objects of one collection, which are numbered. Each method but get is one write.
type author interface {
	create(ctx context.Context, number int) (metav1.Object, error)
	change(ctx context.Context, obj metav1.Object, n int) (metav1.Object, error)
	remove(ctx context.Context, obj metav1.Object) error
	get(ctx context.Context, number int) (metav1.Object, error)
}

// podAuthor writes Pods as their components do.
type podAuthor struct {
	clientset kubernetes.Interface
	life      *objects.Life
	namespace string
}

func (a podAuthor) pod(number int) *corev1.Pod {
	return objects.NewWorkload(seed, number/20, a.namespace).Pod(number % 20)
}

func (a podAuthor) create(ctx context.Context, number int) (metav1.Object, error) {
	return a.life.Create(ctx, a.pod(number))
}

func (a podAuthor) change(ctx context.Context, obj metav1.Object, n int) (metav1.Object, error) {
	pod := obj.(*corev1.Pod)
	if n%2 == 0 {
		return a.life.ReportRunning(ctx, pod)
	}
	return a.life.Annotate(ctx, pod, "e2e.example.com/change", fmt.Sprint(n))
}

func (a podAuthor) remove(ctx context.Context, obj metav1.Object) error {
	return a.life.Delete(ctx, obj.(*corev1.Pod))
}

func (a podAuthor) get(ctx context.Context, number int) (metav1.Object, error) {
	return a.clientset.CoreV1().Pods(a.namespace).Get(ctx, a.pod(number).Name, metav1.GetOptions{})
}

// ledger is the history of a collection as who wrote it knows it.
type ledger struct {
	mu     sync.Mutex
	states map[string][]state
}

func newLedger() *ledger { return &ledger{states: map[string][]state{}} }

func (l *ledger) add(key string, s state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states[key] = append(l.states[key], s)
}

func (l *ledger) size() (objects, changes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, states := range l.states {
		changes += len(states)
	}
	return len(l.states), changes
}

// all calls see with the history of each key.
func (l *ledger) all(see func(key string, history []state)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, states := range l.states {
		see(key, states)
	}
}

// writer writes a collection at random and keeps a ledger. Several goroutines write, each its own objects, so that each
// knows all that happens to them, even if a server dies while it is asked. Its methods are for one goroutine at a time.
type writer struct {
	author author
	ledger *ledger
	number int // of objects
	hands  []*hand
}

// writers is how many goroutines of a writer write.
const writers = 4

// hand is one of them.
type hand struct {
	author  author
	ledger  *ledger
	objects map[int]metav1.Object // last known state; nil is none
	numbers []int
	random  *rand.Rand
	n       int
}

func newWriter(a author, number int) *writer {
	w := &writer{author: a, ledger: newLedger(), number: number}
	w.begin()
	return w
}

// begin begins anew, with none of the objects there.
func (w *writer) begin() {
	w.ledger, w.hands = newLedger(), nil
	for i := range writers {
		h := &hand{author: w.author, ledger: w.ledger, objects: map[int]metav1.Object{}, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		for number := i; number < w.number; number += writers {
			h.numbers = append(h.numbers, number)
		}
		w.hands = append(w.hands, h)
	}
}

// read begins anew with what is there.
func (w *writer) read(t *testing.T) {
	t.Helper()
	w.begin()
	w.all(func(h *hand) {
		for _, number := range h.numbers {
			h.settle(t, number, func() (metav1.Object, error) { return h.author.get(t.Context(), number) })
		}
	})
}

// all runs f for each hand.
func (w *writer) all(f func(h *hand)) {
	var running sync.WaitGroup
	for _, h := range w.hands {
		running.Go(func() { f(h) })
	}
	running.Wait()
}

// fill creates all objects that are not there.
func (w *writer) fill(t *testing.T) {
	t.Helper()
	w.all(func(h *hand) {
		for _, number := range h.numbers {
			if h.objects[number] == nil {
				h.settle(t, number, func() (metav1.Object, error) { return h.author.create(t.Context(), number) })
			}
		}
	})
}

// write makes some changes and returns when they are made.
func (w *writer) write(t *testing.T, changes int) {
	t.Helper()
	w.all(func(h *hand) {
		for range changes / writers {
			h.step(t)
		}
	})
}

// writeDuring makes changes while f runs, and some more after it.
func (w *writer) writeDuring(t *testing.T, f func(), more int) {
	t.Helper()
	stop := make(chan struct{})
	written := make(chan struct{})
	go func() {
		defer close(written)
		w.all(func(h *hand) {
			for running := true; running; h.step(t) {
				select {
				case <-stop:
					running = false
				default:
				}
			}
		})
	}()
	f()
	close(stop)
	<-written
	w.write(t, more)
}

// step makes one change: it creates what is not there; of what is, one in eight is deleted, the others are changed.
func (h *hand) step(t *testing.T) {
	t.Helper()
	if t.Context().Err() != nil {
		return
	}
	number := h.numbers[h.random.IntN(len(h.numbers))]
	obj := h.objects[number]
	h.n++
	h.settle(t, number, func() (metav1.Object, error) {
		switch {
		case obj == nil:
			return h.author.create(t.Context(), number)
		case obj.GetDeletionTimestamp() != nil, h.random.IntN(8) == 0:
			return nil, h.author.remove(t.Context(), obj)
		default:
			return h.author.change(t.Context(), obj, h.n)
		}
	})
}

// settle makes a write and books what came of it. After an error the server is asked what that is: it may have died between
// the write and the answer.
func (h *hand) settle(t *testing.T, number int, write func() (metav1.Object, error)) {
	t.Helper()
	obj, err := write()
	if err != nil {
		err = poll(t.Context(), func(ctx context.Context) error {
			read, err := h.author.get(ctx, number)
			if apierrors.IsNotFound(err) {
				obj = nil
				return nil
			}
			obj = read
			return err
		})
	}
	if err != nil {
		t.Errorf("object %d: %v", number, err)
		return
	}
	h.book(number, obj)
}

// book enters an object's state, nil for none, unless it is the one that is known.
func (h *hand) book(number int, obj metav1.Object) {
	old := h.objects[number]
	h.objects[number] = obj
	switch {
	case obj == nil && old != nil:
		h.ledger.add(keyOf(old), state{old.GetUID(), gone})
	case obj == nil, obj.GetDeletionTimestamp() != nil:
	case old == nil || stateOf(old) != stateOf(obj):
		h.ledger.add(keyOf(obj), stateOf(obj))
	}
}

// expectAll checks that of each object all was told that happened since the first that was, in order and once.
func expectAll(t *testing.T, r *told, l *ledger) {
	t.Helper()
	wrong := 0
	l.all(func(key string, history []state) {
		got := r.history(key)
		if len(got) > 0 {
			history = history[max(0, slices.Index(history, got[0])):]
		} else if history[len(history)-1].version == gone {
			return // it was all over before this one began
		}
		if !slices.Equal(got, history) {
			if wrong++; wrong <= 3 {
				t.Errorf("of %s was told\n%v, want\n%v", key, got, history)
			}
		}
	})
	if wrong > 3 {
		t.Errorf("and so of %d objects", wrong)
	}
}

// expectFromStart is expectAll for one that was there from the beginning.
func expectFromStart(t *testing.T, r *told, l *ledger) {
	t.Helper()
	l.all(func(key string, history []state) {
		if got := r.history(key); !slices.Equal(got, history) {
			t.Errorf("of %s was told\n%v, want\n%v", key, got, history)
		}
	})
}

// expectSome checks that nothing was told that did not happen, and in the order in which it did. A relist may join what
// happened before it.
func expectSome(t *testing.T, r *told, l *ledger) {
	t.Helper()
	l.all(func(key string, history []state) {
		got, rest := r.history(key), history
		for i, s := range got {
			at := slices.Index(rest, s)
			if at < 0 {
				t.Errorf("of %s was told\n%v, of which number %d does not come next in\n%v", key, got, i, history)
				return
			}
			rest = rest[at+1:]
		}
	})
}
