package feed

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
