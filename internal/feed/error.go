package feed

import (
	"fmt"
	"strings"
)

// Error is an error whose text identifies it, so that packages can declare the same sentinel error
// as a constant: errors.Is compares the texts.
type Error string

// Error returns the text.
func (e Error) Error() string { return string(e) }

// ErrGoexit reports a function of the program that ended the goroutine it was called in.
const ErrGoexit = Error("a transform, filter, index function or ErrorHandler ended its goroutine, by runtime.Goexit")

// ErrSkip is wrapped by the error of a transform that ignores a state. The state changes nothing,
// and is not reported. Package cache declares it with the same text.
const ErrSkip = Error("skip this state of the object")

// maxErrorText is the maximum length in bytes of the text of an error that a server has caused.
const maxErrorText = 4 << 10

// shortError is an error with a shorter text.
type shortError struct {
	text string
	err  error
}

func (e *shortError) Error() string { return e.text }
func (e *shortError) Unwrap() error { return e.err }

// Shorten returns err with a text of a bounded length, since logs and Status have it. A server
// chooses the text of its errors. It returns nil if err is nil.
func Shorten(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if len(text) <= maxErrorText {
		return err
	}
	text = fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(text[:maxErrorText], ""), len(text))
	return &shortError{text, err}
}
