// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// ErrGoexit reports a function of the program that ended the goroutine it was called in.
var ErrGoexit = errors.New("a transform, filter, index function or ErrorHandler ended its goroutine, by runtime.Goexit")

// ErrSkip is wrapped by the error of a transform that ignores a state. The state changes nothing,
// and is not reported.
var ErrSkip = errors.New("skip this state of the object")

// ErrNoVersion reports a list or event without a resourceVersion that can be compared with others
// (API concepts, "Resource versions").
var ErrNoVersion = errors.New("no valid resourceVersion")

// ErrOutdated is the error of a Replacement's Commit, and the cause of a list after an event was
// Outdated: the collection has forgotten what was deleted since.
var ErrOutdated = errors.New("deletions since then were forgotten")

// maxErrorText is the maximum length in bytes of the text of an error that a server has caused.
const maxErrorText = 4 << 10

// textError is an error with another text.
type textError struct {
	text string
	err  error
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.err }

// WithText returns an error that wraps err and has another text.
func WithText(err error, text string) error { return &textError{text, err} }

// CauseFirst returns an error that wraps err and has a text in which the cause of a failed request
// precedes the URL, which may be long: `EOF (Get "https://...")` for the `Get "https://...": EOF`
// of net/http. It returns err if it is not of such a request.
func CauseFirst(err error) error {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	text := err.Error()
	begin := strings.Index(text, failed.Op+` "`)
	if begin < 0 {
		return err
	}
	after := text[begin+len(failed.Op)+1:]
	target, _ := strconv.QuotedPrefix(after) // empty if there is none; the URL may be redacted, so it is not that of failed
	cause, ok := strings.CutPrefix(after[len(target):], ": ")
	if !ok {
		return err
	}
	return WithText(err, fmt.Sprintf("%s%s (%s %s)", text[:begin], cause, failed.Op, target))
}

// Shorten returns err with a text of a bounded length, since logs and Status have it. A server
// chooses the text of its errors. It returns nil if err is nil.
func Shorten(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); len(text) > maxErrorText {
		return WithText(err, ShortText(text))
	}
	return err
}

// ShortText returns the text of an error, or its first 4 KiB and its length.
func ShortText(text string) string {
	if len(text) <= maxErrorText {
		return text
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(text[:maxErrorText], ""), len(text))
}
