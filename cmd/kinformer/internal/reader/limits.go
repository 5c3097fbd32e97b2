package reader

import "fmt"

// Limits bounds what is read. Zero means no bound.
type Limits struct {
	// Objects and Bytes bound all resources together.
	Objects int64
	Bytes   int64
	// Memory bounds the memory that one resource needs, as MemoryFor says.
	Memory    int64
	MemoryFor func(wireBytes int64) int64
}

// LimitError reports that a resource exceeds a limit.
type LimitError struct {
	What string // such as "50,000 objects"
	Hint string
}

// Error implements error.
func (e *LimitError) Error() string { return fmt.Sprintf("more than %s: %s", e.What, e.Hint) }
