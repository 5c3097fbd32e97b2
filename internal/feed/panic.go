package feed

import "fmt"

// CatchPanic calls f and returns its results. If f panics, CatchPanic returns the panic as an
// error, which wraps the panic's value where that is an error. It is meant for calls of functions
// supplied by the user.
func CatchPanic[R any](f func() (R, error)) (result R, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("panic: %w", r)
		default:
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}
