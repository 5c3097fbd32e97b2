package feed

import "fmt"

// CatchPanic calls f and returns its results. If f panics, CatchPanic returns an error that
// describes the panic, and wraps the panic's value if that is an error. Use it to call functions
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
