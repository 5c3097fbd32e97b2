// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/fake/internal/codec"
	"github.com/kinformer/kinformer/fake/internal/history"
)

// maxBody is the maximum size of a request body in bytes, as in the real server.
const maxBody = 3 << 20

// read reads the request's body.
func (c *call) read() ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("read body: %v", err))
	}
	return data, nil
}

// body reads the request's body and returns it with its format.
func (c *call) body() ([]byte, *codec.Format, error) {
	format := c.Codecs.ForContentType(c.r.Header.Get("Content-Type"))
	if format == nil || (c.store != nil && c.store.Custom && !format.IsJSON() && c.r.Method != http.MethodDelete) {
		return nil, nil, unsupportedMediaType(c.r.Header.Get("Content-Type"), c.Codecs.Supported())
	}
	data, err := c.read()
	return data, format, err
}

// object decodes an object of the store's type from the body.
func (c *call) object(fieldValidation string) (history.Object, error) {
	data, format, err := c.body()
	if err != nil {
		return nil, err
	}
	if c.store.Custom {
		return c.customObject(data, fieldValidation)
	}
	obj := c.store.New()
	if err := c.decode(data, format, c.store.Kind, obj, fieldValidation); err != nil {
		return nil, err
	}
	return obj, nil
}

// decode decodes one typed object. Unknown fields are rejected, reported as a warning or ignored,
// depending on fieldValidation.
func (c *call) decode(data []byte, format *codec.Format, want schema.GroupVersionKind, obj runtime.Object, fieldValidation string) error {
	strict := fieldValidation != metav1.FieldValidationIgnore
	decoded, kind, err := format.Decode(data, want, obj, strict)
	if runtime.IsStrictDecodingError(err) && fieldValidation != metav1.FieldValidationStrict {
		c.warn(err)
		err = nil
	}
	switch {
	case err != nil && kind != nil && kind.Kind != "":
		return cannotHandle(*kind, want, err)
	case err != nil:
		return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v", want.Kind, err))
	case *kind != want || decoded != obj:
		return wrongKind(*kind, want)
	}
	return nil
}

// warn adds a Warning header for each invalid field.
func (c *call) warn(err error) {
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return
	}
	for _, problem := range strict.Errors() {
		c.w.Header().Add("Warning", "299 - "+strconv.Quote(problem.Error()))
	}
}

// invalidFields rejects unknown or duplicate fields of a custom resource, reports them as warnings
// or ignores them, depending on fieldValidation.
func (c *call) invalidFields(problems []error, fieldValidation string) error {
	if len(problems) == 0 || fieldValidation == metav1.FieldValidationIgnore {
		return nil
	}
	err := runtime.NewStrictDecodingError(problems)
	if fieldValidation == metav1.FieldValidationStrict {
		return cannotHandle(c.store.Kind, c.store.Kind, err)
	}
	c.warn(err)
	return nil
}

// unknownFields is like invalidFields, for the paths of unknown fields.
func (c *call) unknownFields(fields []string, fieldValidation string) error {
	var problems []error
	for _, path := range fields {
		problems = append(problems, fmt.Errorf("unknown field %q", path))
	}
	return c.invalidFields(problems, fieldValidation)
}

func cannotHandle(kind, want schema.GroupVersionKind, err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind.Kind, kind.Version, want.Kind, err))
}

// customObject decodes an unstructured object, which must have its kind and apiVersion set.
func (c *call) customObject(data []byte, fieldValidation string) (history.Object, error) {
	u := &unstructured.Unstructured{}
	duplicates, err := kjson.UnmarshalStrict(data, &u.Object)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v", c.store.Kind.Kind, err))
	}
	kind := u.GroupVersionKind()
	if kind.Kind == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): Object 'Kind' is missing in '%.100s'",
			c.store.Kind.Kind, data))
	}
	if kind.GroupVersion() != c.store.Kind.GroupVersion() {
		return nil, wrongKind(kind, c.store.Kind)
	}
	if kind.Kind != c.store.Kind.Kind {
		return nil, apierrors.NewInvalid(kind.GroupKind(), u.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("kind"), kind.Kind, "must be "+c.store.Kind.Kind),
		})
	}
	return u, c.invalidFields(duplicates, fieldValidation)
}

func wrongKind(kind, want schema.GroupVersionKind) error {
	if kind.GroupVersion() != want.GroupVersion() {
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)",
			kind.GroupVersion(), want.GroupVersion()))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", kind.Kind, kind.Version, want.Kind))
}
