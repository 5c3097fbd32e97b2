package eventlog

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCursorSeesWhatComesAfterIt(t *testing.T) {
	log := New[int]()
	log.AppendOne(1)
	cursor := log.Cursor()
	if batch, ok := cursor.TryNext(); ok {
		t.Fatalf("a new cursor read %v, appended before it was made", batch)
	}
	log.AppendOne(2)
	log.Append([]int{3, 4})
	log.Append(nil)
	if got := cursor.Lag(); got != 3 {
		t.Errorf("Lag() = %d before reading, want 3", got)
	}
	for _, want := range [][]int{{2}, {3, 4}} {
		got, err := cursor.Next(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("Next() = %v, %v, want %v", got, err, want)
		}
	}
	if got := cursor.Lag(); got != 0 {
		t.Errorf("Lag() = %d after reading all, want 0", got)
	}
}

func TestNextWakesOnAppendCloseAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := New[string]()
		type result struct {
			batch []string
			err   error
		}
		read := func(ctx context.Context) chan result {
			cursor, done := log.Cursor(), make(chan result, 1)
			go func() {
				batch, err := cursor.Next(ctx)
				done <- result{batch, err}
			}()
			return done
		}

		first, second := read(t.Context()), read(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		third := read(ctx)
		synctest.Wait()
		cancel()
		if r := <-third; !errors.Is(r.err, context.Canceled) {
			t.Errorf("after cancel Next() = %v, %v", r.batch, r.err)
		}
		synctest.Wait()
		log.AppendOne("a")
		for _, done := range []chan result{first, second} {
			if r := <-done; r.err != nil || !slices.Equal(r.batch, []string{"a"}) {
				t.Errorf("Next() = %v, %v, want [a]", r.batch, r.err)
			}
		}
		last := read(t.Context())
		synctest.Wait()
		log.Close()
		log.Close()
		if r := <-last; !errors.Is(r.err, ErrClosed) {
			t.Errorf("after Close Next() = %v, %v, want ErrClosed", r.batch, r.err)
		}
	})
}

func TestClosedLogIsReadToItsEndFirst(t *testing.T) {
	log := New[int]()
	cursor := log.Cursor()
	log.AppendOne(1)
	log.Close()
	if batch, err := cursor.Next(t.Context()); err != nil || batch[0] != 1 {
		t.Fatalf("Next() = %v, %v, want [1]", batch, err)
	}
	for range 2 {
		if _, err := cursor.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Fatalf("Next() error = %v, want ErrClosed", err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Append to a closed log did not panic")
		}
	}()
	log.AppendOne(2)
}

func TestCursorOfAClosedLog(t *testing.T) {
	log := New[int]()
	log.AppendOne(1)
	log.Close()
	if _, err := log.Cursor().Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Next() error = %v, want ErrClosed", err)
	}
}

// TestAgainstAList compares cursors made at random moments with a plain list.
func TestAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := New[int]()
		var all []int
		type reader struct {
			cursor *Cursor[int]
			at     int
		}
		var readers []*reader
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				batch := rapid.SliceOfN(rapid.Int(), 0, 5).Draw(t, "batch")
				all = append(all, batch...)
				if len(batch) == 1 {
					log.AppendOne(batch[0])
				} else {
					log.Append(batch)
				}
			},
			"cursor": func(*rapid.T) {
				readers = append(readers, &reader{log.Cursor(), len(all)})
			},
			"read": func(t *rapid.T) {
				if len(readers) == 0 {
					t.Skip("no reader yet")
				}
				r := rapid.SampledFrom(readers).Draw(t, "reader")
				batch, ok := r.cursor.TryNext()
				if ok != (r.at < len(all)) {
					t.Fatalf("TryNext() ok = %v with %d of %d read", ok, r.at, len(all))
				}
				if !slices.Equal(batch, all[r.at:r.at+len(batch)]) {
					t.Fatalf("read %v, want a prefix of %v", batch, all[r.at:])
				}
				r.at += len(batch)
			},
			"": func(t *rapid.T) {
				for _, r := range readers {
					if got, want := r.cursor.Lag(), uint64(len(all)-r.at); got != want {
						t.Fatalf("Lag() = %d, want %d", got, want)
					}
				}
			},
		})
	})
}

func TestManyReadersBesideAWriter(t *testing.T) {
	const events = 20_000
	log := New[int]()
	var wg sync.WaitGroup
	for range 8 {
		cursor := log.Cursor()
		wg.Go(func() {
			want := 0
			for {
				batch, err := cursor.Next(t.Context())
				if err != nil {
					if want != events {
						t.Errorf("log ended at %d with %v, want %d events", want, err, events)
					}
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
	log.Close()
	wg.Wait()
}

// TestReadBatchesAreGarbage holds the memory promise: with every cursor at the
// end, nothing of what was appended is kept alive.
func TestReadBatchesAreGarbage(t *testing.T) {
	log := New[*[1 << 20]byte]()
	cursor := log.Cursor()
	collected := make(chan struct{})
	func() {
		big := new([1 << 20]byte)
		runtime.AddCleanup(big, func(struct{}) { close(collected) }, struct{}{})
		log.AppendOne(big)
	}()
	if _, err := cursor.Next(t.Context()); err != nil {
		t.Fatal(err)
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
	t.Error("a batch that every cursor has read is still alive")
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
