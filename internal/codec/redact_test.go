// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestErrorsOfDecodersAreRedacted(t *testing.T) {
	_, parse := time.Parse(time.RFC3339, "hunter2")
	for _, test := range []struct{ err, want string }{
		{parse.Error(), `parsing time "..." as "...": cannot parse "..." as "..."`},
		{`json: cannot unmarshal number 4711e5 into Go struct field S.n of type int8`, `json: cannot unmarshal number into Go struct field S.n of type int8`},
		{`json: cannot unmarshal string into Go struct field S.n of type int8`, `json: cannot unmarshal string into Go struct field S.n of type int8`},
		{`Object 'Kind' is missing in '{"a":"it's"}'`, `Object 'Kind' is missing in '...'`},
		{`strconv.ParseInt: parsing "4711": value out of range`, `strconv.ParseInt: parsing "...": value out of range`},
		{`half "of a \" quote`, `half "..."`},
		{`got invalid watch event type: hunter2`, `got invalid watch event type`},
	} {
		if got := withoutValues(errors.New(test.err)).Error(); got != test.want {
			t.Errorf("redacted %s, want %s", got, test.want)
		}
	}
	if err := (ObjectType{}).WithoutValues(fmt.Errorf("list: %w", parse)); strings.Contains(err.Error(), "hunter2") || !errors.Is(err, parse) {
		t.Errorf("redacted %v", err)
	}
}

// TestShortenedErrorsAreRedacted redacts texts that end within a value, at each of its bytes, and
// long texts, which redact shortens there.
func TestShortenedErrorsAreRedacted(t *testing.T) {
	for _, text := range []string{
		`parsing "sec\"sec\\sec\nsec"`,
		"parsing \"sec\\\nsec\\\"sec\"",
		`Object 'Kind' is missing in '{"sec":'sec'}'`,
		`got invalid watch event type: sec "sec" sec`,
	} {
		for n := range len(text) {
			if got := redact(text[:n]); strings.Contains(got, "sec") {
				t.Errorf("redacted %s to %s", text[:n], got)
			}
			long := strings.Repeat("x", 4<<10-n) + " " + text + strings.Repeat("sec", 1<<14)
			if got := redact(long); strings.Contains(got, "sec") || len(got) > 5<<10 {
				t.Errorf("redacted %d bytes that end with %s to %d bytes that end with %s", len(long), text[:n], len(got), got[len(got)-20:])
			}
		}
	}
}

// TestContinueTokenIsRedacted checks the error of a request for a page, whose URL has the token.
func TestContinueTokenIsRedacted(t *testing.T) {
	cause := &url.Error{Op: "Get", URL: "https://server/api/v1/pods?continue=eyJ2IjoibWV0&limit=500", Err: io.EOF}
	err := (ObjectType{}).WithoutValues(fmt.Errorf("list: %w", cause))
	if want := `list: Get "https://server/api/v1/pods?continue=...&limit=500": EOF`; err.Error() != want || !errors.Is(err, io.EOF) || !errors.Is(err, cause) {
		t.Errorf("redacted %v, want %s", err, want)
	}
}

// TestOtherErrorsAreNotRedacted checks the errors of connections and of servers, which quote URLs
// and names.
func TestOtherErrorsAreNotRedacted(t *testing.T) {
	for _, err := range []error{
		nil,
		errors.New(`Get "https://server/api/v1/pods": dial tcp: connection refused`),
		apierrors.NewForbidden(metav1.Unversioned.WithResource("pods").GroupResource(), "a", errors.New(`user "b" must not`)),
		apierrors.NewNotFound(metav1.Unversioned.WithResource("pods").GroupResource(), "a"),
	} {
		if got := (ObjectType{}).WithoutValues(err); got != err {
			t.Errorf("redacted %v to %v", err, got)
		}
	}
}

// ownType decodes itself.
type ownType struct {
	metav1.PartialObjectMetadata

	Spec ownSpec
}

type ownSpec struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*ownSpec) UnmarshalJSON(b []byte) error { return fmt.Errorf("no spec: %q", b) }

// TestErrorOfOwnDecoderIsRedacted checks errors that a client returns without a sign of its
// decoder.
func TestErrorOfOwnDecoderIsRedacted(t *testing.T) {
	own, other := ObjectType{GoType: reflect.TypeFor[*ownType]()}, ObjectType{GoType: reflect.TypeFor[*metav1.PartialObjectMetadata]()}
	err := new(ownSpec).UnmarshalJSON([]byte("hunter2"))
	if got := own.WithoutValues(err); got.Error() != `no spec: "..."` || !errors.Is(got, err) {
		t.Errorf("redacted %v", got)
	}
	if got := other.WithoutValues(err); got != err {
		t.Errorf("redacted %v of a type that does not decode itself", got)
	}
	refused := &url.Error{Op: "Get", URL: "https://server/api", Err: io.EOF}
	if got := own.WithoutValues(refused); got != error(refused) {
		t.Errorf("redacted %v", got)
	}
	for _, text := range []string{
		`no kind "hunter2" is registered for version "hunter2/v1" in scheme "s"`,
		`unexpected GroupVersion string: hunter2/a/b`,
	} {
		if got := other.WithoutValues(errors.New(text)); strings.Contains(got.Error(), "hunter2") {
			t.Errorf("redacted %v", got)
		}
	}
}
