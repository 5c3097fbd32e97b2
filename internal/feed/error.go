package feed

// Error is an error whose text identifies it, so that packages can declare the same sentinel error
// as a constant: errors.Is compares the texts.
type Error string

// Error returns the text.
func (e Error) Error() string { return string(e) }
