package harness

import (
	"os"
	"runtime/pprof"
)

// HeapProfile writes a profile of what is in use as of the last garbage collection,
// unless the path is empty.
func HeapProfile(path string) error {
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
