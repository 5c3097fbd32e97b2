// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinformer/kinformer/fake/internal/history"
)

const (
	// patchAttempts is the maximum number of attempts to apply a patch while other clients update
	// the object. maxOperations is the maximum length of a JSON patch, and maxCopied the maximum
	// number of bytes that its copy operations add. All are those of the real server.
	patchAttempts = 6
	maxOperations = 10_000
	maxCopied     = 3 << 20
)

// limitCopies makes JSON patches fail that copy more than maxCopied. As in the real server, the
// limit is one of the process. Another limit that the program has set is kept.
var limitCopies = sync.OnceFunc(func() {
	atomic.CompareAndSwapInt64(&jsonpatch.AccumulatedCopySizeLimit, 0, maxCopied)
})

// Writer is a method of Store that replaces an object: Update, UpdateStatus or Finalize.
type Writer func(s *Store, namespace, name string, obj history.Object, mode Mode) (history.Object, bool, error)

// PatchTypes returns the content types of the patches that the resource supports.
func (s *Store) PatchTypes() []string {
	patchTypes := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if !s.Custom {
		patchTypes = append(patchTypes, string(types.StrategicMergePatchType))
	}
	return append(patchTypes, string(types.ApplyYAMLPatchType))
}

// Patch reads an object, applies a patch to it and writes it back. It retries if another client has
// updated the object meanwhile. A resourceVersion in the patch must be the current one.
func (s *Store) Patch(namespace, name string, patchType types.PatchType, patch []byte, write Writer, mode Mode) (history.Object, error) {
	for attempt := 1; ; attempt++ {
		current, ok := s.objects.Get(history.Key(namespace, name))
		if !ok {
			return nil, s.notFound(name)
		}
		next, err := s.applyPatch(s.Present(current), patchType, patch)
		if err != nil {
			return nil, err
		}
		if err := s.checkPatchedUID(next, current); err != nil {
			return nil, err
		}
		stored, _, err := write(s, namespace, name, next, mode)
		if !isLostRace(err, next, current) || attempt == patchAttempts {
			return stored, err
		}
	}
}

// checkPatchedUID returns an error if a patch changes the UID of an object.
func (s *Store) checkPatchedUID(next, current history.Object) error {
	uid := next.GetUID()
	if uid == "" || uid == current.GetUID() {
		return nil
	}
	return s.invalid(next, field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
}

// isLostRace reports whether a write failed because another client has updated the object since it
// was read, and not because the request names another version or UID.
func isLostRace(err error, next, read history.Object) bool {
	return apierrors.IsConflict(err) && next.GetResourceVersion() == read.GetResourceVersion() && next.GetUID() == read.GetUID()
}

// applyPatch applies a patch to an object's JSON and decodes the result.
func (s *Store) applyPatch(current history.Object, patchType types.PatchType, patch []byte) (history.Object, error) {
	before, err := json.Marshal(current)
	if err != nil {
		return nil, fmt.Errorf("encode %s %q for patch: %w", s.Kind.Kind, current.GetName(), err)
	}
	var after []byte
	switch patchType {
	case types.JSONPatchType:
		after, err = applyJSONPatch(before, patch)
	case types.MergePatchType:
		after, err = applyMergePatch(before, patch)
	case types.StrategicMergePatchType:
		after, err = s.applyStrategicPatch(before, patch)
	default:
		err = fmt.Errorf("patch type %s is not supported", patchType)
	}
	if err != nil {
		return nil, err
	}
	return s.decodePatched(after, patch)
}

func (s *Store) decodePatched(after, patch []byte) (history.Object, error) {
	obj := s.New()
	into := any(obj)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object = nil
		into = &u.Object
	}
	if err := utiljson.Unmarshal(after, into); err != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(patch), err.Error())})
	}
	if kind := obj.GetObjectKind().GroupVersionKind(); kind != s.Kind {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("patch changes the kind from %s to %s", s.Kind, kind))
	}
	return obj, nil
}

func applyJSONPatch(before, patch []byte) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, badPatch(err)
	}
	if len(operations) > maxOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(operations)))
	}
	limitCopies()
	after, err := operations.Apply(before)
	if err != nil {
		return nil, unprocessable(err)
	}
	return after, nil
}

func applyMergePatch(before, patch []byte) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(patch, &object); err != nil {
		return nil, badPatch(err)
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return after, nil
}

func (s *Store) applyStrategicPatch(before, patch []byte) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(patch, &object); err != nil {
		return nil, badPatch(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, s.New())
	for _, bad := range []error{
		mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	} {
		if errors.Is(err, bad) {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if err != nil {
		return nil, unprocessable(err)
	}
	return after, nil
}

func badPatch(err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
}

func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}
