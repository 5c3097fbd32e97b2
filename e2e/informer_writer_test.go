// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kinformer/kinformer/e2e/objects"
)

// author creates, changes and deletes the objects of one collection by number. Each method except
// get is one write.
type author interface {
	create(ctx context.Context, number int) (metav1.Object, error)
	change(ctx context.Context, obj metav1.Object, n int) (metav1.Object, error)
	remove(ctx context.Context, obj metav1.Object) error
	get(ctx context.Context, number int) (metav1.Object, error)
}

// podAuthor writes Pods as the components of a cluster do.
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

// writer makes random writes to a collection and keeps a ledger. Each of its workers writes its own
// objects and so knows their complete history, even if the server crashes during a request. Only
// one goroutine may call its methods.
type writer struct {
	author  author
	ledger  *ledger
	number  int                     // of objects
	limit   flowcontrol.RateLimiter // of all changes together
	hot     int                     // see focus
	workers []*worker
}

// workerCount is the number of goroutines of a writer.
const workerCount = 4

// worker is a goroutine of a writer.
type worker struct {
	author  author
	ledger  *ledger
	limit   flowcontrol.RateLimiter
	objects map[int]metav1.Object // last known state; nil if there is none
	numbers []int
	hot     int // see writer.focus
	random  *rand.Rand
	n       int
}

func newWriter(a author, number int) *writer {
	w := &writer{author: a, ledger: newLedger(), number: number, limit: flowcontrol.NewFakeAlwaysRateLimiter()}
	w.reset()
	return w
}

// pace limits the changes per second. Filling the collection is not limited.
func (w *writer) pace(perSecond int) {
	w.limit = flowcontrol.NewTokenBucketRateLimiter(float32(perSecond), 1)
	for _, h := range w.workers {
		h.limit = w.limit
	}
}

// focus makes half of the changes to the first objects of each worker, which are therefore deleted
// and recreated often.
func (w *writer) focus(first int) {
	w.hot = first
	for _, h := range w.workers {
		h.hot = first
	}
}

// reset starts a new ledger, with no objects.
func (w *writer) reset() {
	w.ledger, w.workers = newLedger(), nil
	for i := range workerCount {
		h := &worker{
			author: w.author, ledger: w.ledger, limit: w.limit, hot: w.hot,
			objects: map[int]metav1.Object{}, random: rand.New(rand.NewPCG(seed, uint64(i))),
		}
		for number := i; number < w.number; number += workerCount {
			h.numbers = append(h.numbers, number)
		}
		w.workers = append(w.workers, h)
	}
}

// resetFromServer starts a new ledger, with the objects that the server has.
func (w *writer) resetFromServer(t *testing.T) {
	t.Helper()
	w.reset()
	w.eachWorker(func(h *worker) {
		for _, number := range h.numbers {
			h.writeAndRecord(t, number, func() (metav1.Object, error) { return h.author.get(t.Context(), number) })
		}
	})
}

// resetFrom starts a new ledger, with the given objects by their numbers.
func (w *writer) resetFrom(objs map[int]metav1.Object) {
	w.reset()
	for _, h := range w.workers {
		for _, number := range h.numbers {
			h.record(number, objs[number])
		}
	}
}

// eachWorker calls f for each worker concurrently, and waits.
func (w *writer) eachWorker(f func(h *worker)) {
	var running sync.WaitGroup
	for _, h := range w.workers {
		running.Go(func() { f(h) })
	}
	running.Wait()
}

// fill creates all objects that do not exist.
func (w *writer) fill(t *testing.T) {
	t.Helper()
	w.eachWorker(func(h *worker) {
		for _, number := range h.numbers {
			if h.objects[number] == nil {
				h.writeAndRecord(t, number, func() (metav1.Object, error) { return h.author.create(t.Context(), number) })
			}
		}
	})
}

// write makes a number of changes.
func (w *writer) write(t *testing.T, changes int) {
	t.Helper()
	w.eachWorker(func(h *worker) {
		for range changes / workerCount {
			h.step(t)
		}
	})
}

// writeDuring makes changes while f runs, and a number of changes after it.
func (w *writer) writeDuring(t *testing.T, f func(), more int) {
	t.Helper()
	stop := w.start(t)
	f()
	stop()
	w.write(t, more)
}

// start makes changes until the returned function is called, which waits for the last one. The test
// must call it, and may call it again.
func (w *writer) start(t *testing.T) (stop func()) {
	t.Helper()
	ended := make(chan struct{})
	written := make(chan struct{})
	go func() {
		defer close(written)
		w.eachWorker(func(h *worker) {
			for running := true; running; h.step(t) {
				select {
				case <-ended:
					running = false
				default:
				}
			}
		})
	}()
	return sync.OnceFunc(func() {
		close(ended)
		<-written
	})
}

// awaitChanges waits until this number of changes has been made since the ledger was started.
func (w *writer) awaitChanges(t *testing.T, changes int) {
	t.Helper()
	await(t, fmt.Sprint(changes, " changes"), func(context.Context) error {
		if _, now := w.ledger.size(); now < changes {
			return fmt.Errorf("%w: %d changes", errNotAtRest, now)
		}
		return nil
	})
}

// step makes one change: it creates an object that does not exist, and deletes one in eight
// existing objects and changes the others.
func (h *worker) step(t *testing.T) {
	t.Helper()
	if h.limit.Wait(t.Context()) != nil || t.Context().Err() != nil {
		return
	}
	number := h.pick()
	obj := h.objects[number]
	h.n++
	h.writeAndRecord(t, number, func() (metav1.Object, error) {
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

// pick returns the number of the next object to change.
func (h *worker) pick() int {
	if h.hot > 0 && h.random.IntN(2) == 0 {
		return h.numbers[h.random.IntN(h.hot)]
	}
	return h.numbers[h.random.IntN(len(h.numbers))]
}

// writeAndRecord makes a write and records the object's new state. After an error it reads that
// state: the server may have crashed between the write and the response.
func (h *worker) writeAndRecord(t *testing.T, number int, write func() (metav1.Object, error)) {
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
	h.record(number, obj)
}

// record adds an object's state, nil if it does not exist, to the ledger unless that state is
// known.
func (h *worker) record(number int, obj metav1.Object) {
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
