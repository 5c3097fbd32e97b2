package harness

import (
	"os"
	"runtime"
	"runtime/pprof"
)

// LiveHeap returns the bytes in use after garbage collection. It collects three times, since memory
// in pools, and memory with a cleanup or a finalizer, is freed by a later collection only.
func LiveHeap() float64 {
	for range 3 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// WriteHeapProfile writes a profile of the memory in use at the last garbage collection. If the
// path is empty, it does nothing.
func WriteHeapProfile(path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.Lookup("heap").WriteTo(file, 0); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
