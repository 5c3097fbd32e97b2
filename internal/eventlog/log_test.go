// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package eventlog

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/kinformer/kinformer/internal/testing/random"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// next blocks until there is a batch or ctx is done.
func next[E any](ctx context.Context, cursor *Cursor[E]) ([]E, bool) {
	for {
		if batch, ok := cursor.TryNext(); ok {
			return batch, true
		}
		select {
		case <-cursor.Ready():
		case <-ctx.Done():
			return cursor.TryNext()
		}
	}
}

func TestCursorReadsLaterBatches(t *testing.T) {
	log := New[int]()
	log.AppendOne(1)
	cursor := log.Cursor()
	if batch, ok := cursor.TryNext(); ok {
		t.Fatalf("a new cursor read %v, which was appended before", batch)
	}
	log.AppendOne(2)
	log.Append([]int{3, 4})
	log.Append(nil)
	if read, appended := cursor.Position(), log.Appended(); read != 1 || appended != 4 {
		t.Errorf("Position() = %d and Appended() = %d before reading, want 1 and 4", read, appended)
	}
	for _, want := range [][]int{{2}, {3, 4}} {
		got, ok := cursor.TryNext()
		if !ok || !slices.Equal(got, want) {
			t.Fatalf("TryNext() = %v, %v, want %v", got, ok, want)
		}
	}
	if got := cursor.Position(); got != 4 {
		t.Errorf("Position() = %d after reading, want 4", got)
	}
}

func TestReadyIsClosedByAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := New[string]()
		read := func(ctx context.Context) chan []string {
			cursor, done := log.Cursor(), make(chan []string, 1)
			go func() {
				batch, _ := next(ctx, cursor)
				done <- batch
			}()
			return done
		}

		first, second := read(t.Context()), read(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		canceled := read(ctx)
		synctest.Wait()
		cancel()
		if batch := <-canceled; batch != nil {
			t.Errorf("a canceled reader got %v", batch)
		}
		synctest.Wait()
		log.AppendOne("a")
		for _, done := range []chan []string{first, second} {
			if batch := <-done; !slices.Equal(batch, []string{"a"}) {
				t.Errorf("a waiting reader got %v, want [a]", batch)
			}
		}
	})
}

// TestRandomReaders compares cursors created at random times with a slice.
func TestRandomReaders(t *testing.T) {
	random.Check(t, 100, func(t *random.T) {
		log := New[int]()
		var all []int
		type reader struct {
			cursor *Cursor[int]
			at     int
		}
		var readers []*reader
		t.Repeat(map[string]func(*random.T){
			"append": func(t *random.T) {
				batch := make([]int, t.Length("events", 3, 5))
				for i := range batch {
					batch[i] = t.Int()
				}
				all = append(all, batch...)
				if len(batch) == 1 {
					log.AppendOne(batch[0])
				} else {
					log.Append(batch)
				}
			},
			"cursor": func(*random.T) {
				readers = append(readers, &reader{log.Cursor(), len(all)})
			},
			"read": func(t *random.T) {
				if len(readers) == 0 {
					t.Skip("no reader yet")
				}
				r := readers[t.Range("reader", 0, len(readers)-1)]
				batch, ok := r.cursor.TryNext()
				if ok != (r.at < len(all)) {
					t.Fatalf("TryNext() reports %v after %d of %d events", ok, r.at, len(all))
				}
				if !slices.Equal(batch, all[r.at:r.at+len(batch)]) {
					t.Fatalf("TryNext() = %v, want a prefix of %v", batch, all[r.at:])
				}
				r.at += len(batch)
			},
			"": func(t *random.T) {
				for _, r := range readers {
					if got := r.cursor.Position(); got != uint64(r.at) {
						t.Fatalf("Position() = %d, want %d", got, r.at)
					}
				}
				if got := log.Appended(); got != uint64(len(all)) {
					t.Fatalf("Appended() = %d, want %d", got, len(all))
				}
			},
		})
	})
}

// TestReaderIsWokenByAConcurrentAppend begins to wait while the batch is appended that it waits
// for.
func TestReaderIsWokenByAConcurrentAppend(t *testing.T) {
	const batches = 50_000
	log := New[int]()
	cursor := log.Cursor()
	var turn atomic.Int64 // the batch to append
	var wg sync.WaitGroup
	defer wg.Wait()
	appended := make(chan struct{})
	wg.Go(func() {
		for batch := range int64(batches) {
			for turn.Load() < batch {
				runtime.Gosched()
			}
			log.AppendOne(0)
			appended <- struct{}{}
		}
	})
	for batch := range int64(batches) {
		turn.Store(batch)
		ready := cursor.Ready()
		<-appended
		select {
		case <-ready:
		default:
			t.Errorf("batch %d does not wake the reader", batch)
		}
		cursor.TryNext()
	}
}

func TestManyReadersDuringAppends(t *testing.T) {
	const events = 20_000
	log := New[int]()
	var wg sync.WaitGroup
	for range 8 {
		cursor := log.Cursor()
		wg.Go(func() {
			for want := 0; want < events; {
				batch, ok := next(t.Context(), cursor)
				if !ok {
					t.Errorf("the log ended after %d events, want %d", want, events)
					return
				}
				for _, got := range batch {
					if got != want {
						t.Errorf("read %d, want %d", got, want)
						return
					}
					want++
				}
			}
		})
	}
	for i := range events {
		log.AppendOne(i)
	}
	wg.Wait()
}

// TestAppendedCountsEachBatchThatIsRead reads while another goroutine appends. A reader subtracts
// its position from the number of events appended, which must never be the smaller one.
func TestAppendedCountsEachBatchThatIsRead(t *testing.T) {
	const events = 200_000
	log := New[int]()
	cursor := log.Cursor()
	var wg sync.WaitGroup
	wg.Go(func() {
		for cursor.Position() < events {
			if _, ok := cursor.TryNext(); !ok {
				runtime.Gosched()
			} else if read, appended := cursor.Position(), log.Appended(); appended < read {
				t.Errorf("%d events read, %d appended", read, appended)
				return
			}
		}
	})
	for i := range events {
		if i%2 == 0 {
			log.AppendOne(i)
		} else {
			log.Append([]int{i})
		}
	}
	wg.Wait()
}

// TestReadBatchIsCollected checks that a batch is garbage once all cursors have read it.
func TestReadBatchIsCollected(t *testing.T) {
	log := New[*[1 << 20]byte]()
	cursor := log.Cursor()
	collected := make(chan struct{})
	func() {
		big := new([1 << 20]byte)
		runtime.AddCleanup(big, func(struct{}) { close(collected) }, struct{}{})
		log.AppendOne(big)
	}()
	if _, ok := cursor.TryNext(); !ok {
		t.Fatal("TryNext() returned no batch")
	}
	for range 100 {
		runtime.GC()
		select {
		case <-collected:
			runtime.KeepAlive(log)
			runtime.KeepAlive(cursor)
			return
		default:
			runtime.Gosched()
		}
	}
	t.Error("a batch that all cursors have read was not collected")
}

func BenchmarkAppendOneAndRead(b *testing.B) {
	log := New[[5]uintptr]()
	cursor := log.Cursor()
	b.ReportAllocs()
	for b.Loop() {
		log.AppendOne([5]uintptr{})
		cursor.TryNext()
	}
}
