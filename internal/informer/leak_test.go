package informer

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/reflector"
)

// running is an informer of Pods that runs, and holds the first state.
func running(tb testing.TB, pods int, prepare ...func(*Informer[*corev1.Pod])) *Informer[*corev1.Pod] {
	tb.Helper()
	i := New(Config[*corev1.Pod]{Name: "pods", Store: podStore(), Reflector: reflector.Config{Source: noSource{}}})
	for _, p := range prepare {
		p(i)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- i.Run(ctx) }()
	state := i.intake.Begin()
	for _, item := range podItems(pods, pods, 1) {
		state.Add(item)
	}
	state.Commit(strconv.Itoa(pods))
	tb.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			tb.Error(err)
		}
	})
	return i
}

// heapOf returns the heap in use once what is garbage is gone.
func heapOf() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// What a stuck handler keeps is bounded by the objects that there are: two states of each
// and two hundred bytes, however many updates there were. EveryEvent keeps them all.
func TestStuckHandlerKeepsTwoStatesOfEachObject(t *testing.T) {
	const pods, updates, padding = 10_000, 80_000, 500
	stuck, resume := make(chan struct{}), make(chan struct{})
	var calls, merged atomic.Int64
	i := running(t, pods)
	h, err := i.Add(HandlerConfig[*corev1.Pod]{Name: "stuck", OnEvent: func(e Event[*corev1.Pod]) {
		if e.InInitial {
			return
		}
		if calls.Add(1) == 1 {
			close(stuck)
			<-resume
		}
		merged.Add(int64(e.Coalesced))
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-h.Synced()
	update := func(from, n int) {
		for k, item := range podItems(n, pods, pods+from+1) {
			item.Object.(*corev1.Pod).Annotations = map[string]string{"k": string(make([]byte, padding))}
			i.intake.Apply(watch.Modified, item)
			if from == 0 && k == 0 {
				<-stuck
			}
		}
	}
	update(0, pods) // so that all are of one size
	before := heapOf()
	size := sizeOfPod(padding)
	var most int64
	for from := pods; from < updates; from += pods {
		update(from, pods)
		awaitRelief(i, h)
		most = max(most, heapOf()-before)
	}
	bound := int64(pods * (2*size + 200))
	t.Logf("a stuck handler keeps %d bytes of each of %d objects of %d bytes, at most", most/pods, pods, size)
	if most > bound {
		t.Errorf("a stuck handler keeps %d bytes, want at most %d", most, bound)
	}
	close(resume)
	for h.Status().Backlog > 0 {
		runtime.Gosched()
	}
	if got := calls.Load() + merged.Load(); got != updates {
		t.Errorf("told of %d updates, of %d", got, updates)
	}
	if calls.Load() > 4*pods {
		t.Errorf("%d calls for %d objects", calls.Load(), pods)
	}
}

// awaitRelief waits until the steward has read for a handler what there is reason to
// read: it may have to wait for a processor itself.
func awaitRelief(i *Informer[*corev1.Pod], h *Handler[*corev1.Pod]) {
	for {
		h.mu.Lock()
		behind, merging := i.log.Appended()-h.position(), h.merging
		h.mu.Unlock()
		if merging && behind < i.threshold()/8 || !merging && behind < i.threshold() {
			return
		}
		runtime.Gosched()
	}
}

// sizeOfPod returns what one Pod of podItems takes.
func sizeOfPod(padding int) int {
	const n = 10_000
	before := heapOf()
	pods := podItems(n, n, 1_000_000)
	for i := range pods {
		pods[i].Object.(*corev1.Pod).Annotations = map[string]string{"k": string(make([]byte, padding))}
	}
	size := (heapOf() - before) / n
	runtime.KeepAlive(pods)
	return int(size)
}

// Ten thousand handlers that came and went, and were told things, leave nothing behind.
func TestHandlersLeaveNothingBehind(t *testing.T) {
	i := running(t, 10)
	coming := func(n int) {
		for k := range n {
			h, err := i.Add(HandlerConfig[*corev1.Pod]{Name: strconv.Itoa(k), OnEvent: func(Event[*corev1.Pod]) {}})
			if err != nil {
				t.Fatal(err)
			}
			if k%2 == 0 {
				<-h.Synced()
			}
			i.intake.Apply(watch.Modified, podItems(1, 10, 1000+k)[0])
			if err := h.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	coming(100)
	before, goroutines := heapOf(), runtime.NumGoroutine()
	coming(10_000)
	if grown := heapOf() - before; grown > 200_000 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	expectGoroutines(t, goroutines)
	if len(i.Handlers()) != 0 || len(i.running) != 0 {
		t.Errorf("%d handlers are left, %d running", len(i.Handlers()), len(i.running))
	}
}

// expectGoroutines requires that there are no more than so many, once those have ended
// that have said that they do.
func expectGoroutines(t *testing.T, atMost int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > atMost; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), atMost)
			return
		}
	}
}

// A handler that has been removed keeps nothing of the log alive, even while its call runs.
func TestRemovedHandlerKeepsNothing(t *testing.T) {
	i := running(t, 10)
	resume, stuck := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h, err := i.Add(HandlerConfig[*corev1.Pod]{Name: "stuck", Delivery: EveryEvent, OnEvent: func(Event[*corev1.Pod]) {
		once.Do(func() { close(stuck) })
		<-resume
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-stuck
	h.Remove()
	before := heapOf()
	for k := range 200 {
		for _, item := range podItems(100, 10, 1000+100*k) {
			i.intake.Apply(watch.Modified, item)
		}
	}
	if grown := heapOf() - before; grown > 500_000 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	close(resume)
	<-h.Done()
}

// A thousand informers that came and went leave nothing behind, whether they ran or not.
func TestInformersLeaveNothingBehind(t *testing.T) {
	lives := func(n int) {
		for k := range n {
			i := New(Config[*corev1.Pod]{Name: "pods", Store: podStore(), Reflector: reflector.Config{Source: noSource{}}})
			i.AddHandler("", func(Event[*corev1.Pod]) {}, time.Hour)
			if k%4 == 0 {
				continue
			}
			ctx, cancel := context.WithCancel(t.Context())
			stopped := make(chan error, 1)
			go func() { stopped <- i.Run(ctx) }()
			i.intake.Begin().Commit("1")
			i.intake.Apply(watch.Added, podItems(1, 1, 2)[0])
			cancel()
			if err := <-stopped; err != nil {
				t.Fatal(err)
			}
		}
	}
	lives(10)
	before, goroutines := heapOf(), runtime.NumGoroutine()
	lives(1000)
	if grown := heapOf() - before; grown > 200_000 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	expectGoroutines(t, goroutines)
}

// Handlers come and go while events do: each is told the state that was there, and then
// every change after it, none twice. The race detector looks on.
func TestHandlersComeWhileEventsDo(t *testing.T) {
	i := running(t, 20)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for k := range 300 {
			for _, item := range podItems(20, 20, 21+20*k) {
				i.intake.Apply(watch.Modified, item)
			}
		}
	}()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for k := range 20 {
				last := make(map[string]int)
				h, err := i.Add(HandlerConfig[*corev1.Pod]{Name: fmt.Sprint(w, k), Delivery: Delivery(w % 2), OnEvent: func(e Event[*corev1.Pod]) {
					version, _ := strconv.Atoi(e.New.ResourceVersion)
					if before, ok := last[e.Key]; ok && version != before+20*(1+e.Coalesced) {
						t.Errorf("%s at %d after %d, %d joined", e.Key, version, before, e.Coalesced)
					}
					last[e.Key] = version
				}})
				if err != nil {
					t.Error(err)
					return
				}
				<-h.Synced()
				if k == 19 {
					<-ended
					for h.Status().Backlog > 0 {
						runtime.Gosched()
					}
					if len(last) != 20 {
						t.Errorf("told of %d objects", len(last))
					}
				}
				if err := h.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// The lag of a handler is in events and in time, and both go back to nothing.
func TestLag(t *testing.T) {
	var resume chan struct{}
	play(t, false, []string{"a=1"}, func(s *scene) {
		resume = make(chan struct{})
		s.AddHandler("slow", func(Event[string]) { <-resume }, 0)
	}, func(s *scene) {
		s.send(watch.Modified, "a=2", "11")
		<-time.After(5 * time.Second)
		if got := s.Handlers()[0]; got.Backlog != 2 || got.Lag != 5*time.Second {
			s.t.Errorf("%+v", got)
		}
		close(resume)
		synctest.Wait()
		if got := s.Handlers()[0]; got.Backlog != 0 || got.Lag != 0 {
			s.t.Errorf("%+v", got)
		}
		if err := s.stop(); err != nil {
			s.t.Error(err)
		}
	})
}

// BenchmarkEventBesideLateHandler takes one event to a handler of an informer of 200,000
// Pods while other handlers come, are told them all, and go.
func BenchmarkEventBesideLateHandler(b *testing.B) {
	for _, late := range []bool{false, true} {
		b.Run(fmt.Sprint("late=", late), func(b *testing.B) {
			i := running(b, 200_000)
			told := make(chan struct{}, 1)
			steady, err := i.Add(HandlerConfig[*corev1.Pod]{Name: "steady", OnEvent: func(e Event[*corev1.Pod]) {
				if e.Type == Update {
					told <- struct{}{}
				}
			}})
			if err != nil {
				b.Fatal(err)
			}
			<-steady.Synced()
			done := make(chan struct{})
			var wg sync.WaitGroup
			if late {
				wg.Go(func() {
					for {
						h, err := i.Add(HandlerConfig[*corev1.Pod]{Name: "late", OnEvent: func(Event[*corev1.Pod]) {}})
						if err != nil {
							b.Error(err)
							return
						}
						select {
						case <-h.Synced():
						case <-done:
						}
						h.Remove()
						<-h.Done()
						select {
						case <-done:
							return
						default:
						}
					}
				})
			}
			items := podItems(1000, 1000, 1_000_000)
			var took []time.Duration
			n := 0
			for b.Loop() {
				item := items[n%len(items)]
				item.ResourceVersion = strconv.Itoa(1_000_000 + n)
				began := time.Now()
				i.intake.Apply(watch.Modified, item)
				<-told
				took = append(took, time.Since(began))
				n++
			}
			close(done)
			wg.Wait()
			slices.Sort(took) // the longest are the machine's: a thread that had to wait for a processor
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "ns-median")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
			b.ReportMetric(float64(took[len(took)*999/1000].Microseconds()), "µs-p99.9")
		})
	}
}
