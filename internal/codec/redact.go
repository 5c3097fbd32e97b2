// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/feed"
)

// Decoders quote values of the object in their errors, which must not reach a log: the object may
// be a Secret. A quote may end with the text, since texts are shortened first.
var (
	quotedValue   = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.?)*"?`)
	quotedObject  = regexp.MustCompile(`'\{(?s:.*)\}?'?`)
	quotedNumber  = regexp.MustCompile(`\bnumber -?[0-9][-+.0-9eE]*`)
	unquotedValue = regexp.MustCompile(`\b(event type|GroupVersion string): (?s:.*)`)

	// continueToken is in the URL of a request for a page. The token names an object.
	continueToken = regexp.MustCompile(`continue=[^&\s"]+`)
)

// redact returns the text of an error, shortened and without values. A value may have megabytes,
// and the expressions take 100 ns for each byte.
func redact(text string) string {
	text = feed.ShortText(text)
	text = quotedObject.ReplaceAllString(text, "'...'")
	text = quotedValue.ReplaceAllString(text, `"..."`)
	text = quotedNumber.ReplaceAllString(text, "number")
	return unquotedValue.ReplaceAllString(text, "$1")
}

// withoutValues returns an error of a decoder without the values that it quotes. It returns nil if
// err is nil.
func withoutValues(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if redacted := redact(text); redacted != text {
		return feed.WithText(err, redacted)
	}
	return err
}

// WithoutValues returns a client's error without the values of objects that it quotes, if it is one
// of its decoder, and without the continue token of the URL, if it has one. It returns any other
// error unchanged. Errors of a type's own UnmarshalJSON look like any other: if the objects have
// one, only errors of requests are left as they are.
func (t ObjectType) WithoutValues(err error) error {
	if status, ok := err.(*apierrors.StatusError); ok { //nolint:errorlint // of an ERROR event, never wrapped
		return withoutValuesOfStatus(status)
	}
	if err == nil {
		return nil
	}
	if isDecodeError(err) || !isRequestError(err) && t.decodesItself() {
		err = withoutValues(err)
	}
	if text := err.Error(); continueToken.MatchString(text) {
		return feed.WithText(err, continueToken.ReplaceAllString(text, "continue=..."))
	}
	return err
}

// withoutValuesOfStatus is WithoutValues for the Status that a client makes of an event that it
// cannot decode.
func withoutValuesOfStatus(err *apierrors.StatusError) error {
	if err.ErrStatus.Details == nil {
		return err
	}
	byClient := func(cause metav1.StatusCause) bool {
		return cause.Type == "ClientWatchDecoding" || cause.Type == "ClientError"
	}
	i := slices.IndexFunc(err.ErrStatus.Details.Causes, byClient)
	if i < 0 {
		return err
	}
	status := *err.ErrStatus.DeepCopy()
	status.Message = redact(status.Details.Causes[i].Message)
	for i := range status.Details.Causes {
		status.Details.Causes[i].Message = redact(status.Details.Causes[i].Message)
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// isDecodeError reports whether err is of a decoder of apimachinery. Most have no type of their
// own.
func isDecodeError(err error) bool {
	if _, ok := errors.AsType[*time.ParseError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*strconv.NumError](err); ok {
		return true
	}
	text := err.Error()
	return slices.ContainsFunc(textsOfDecoders, func(part string) bool { return strings.Contains(text, part) })
}

// textsOfDecoders are parts of the texts of errors of apimachinery's decoders. The last ones are of
// an unknown kind or version, which the error quotes.
var textsOfDecoders = []string{ //nolint:gochecknoglobals // a constant
	"json: ", "' is missing in '", "no kind \"", "no version \"", "unable to decode ", "unexpected GroupVersion string: ",
}

// isRequestError reports whether err is of a request or of the server, and so not of a decoder.
func isRequestError(err error) bool {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return true
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || feed.IsPanic(err)
}
