// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cache"
)

// objectPage is the content of an object.
type objectPage struct {
	informer

	Key  string
	Text string
}

// object serves the content of an object as JSON, if the options and the object's kind allow it.
func (h *handler) object(w http.ResponseWriter, r *http.Request) *failure {
	view, failed := h.view(r)
	switch {
	case failed != nil:
		return failed
	case !h.options.ShowObjects:
		return &failure{http.StatusForbidden, "This program does not show the content of objects."}
	}
	key := r.URL.Query().Get("key")
	text, failed := h.readObject(r, view, key)
	if failed != nil {
		return failed
	}
	if wantsJSON(r) {
		return write(w, r, http.StatusOK, typeJSON, text)
	}
	return h.writePage(w, r, http.StatusOK, "object.html", objectPage{informer: h.read(view), Key: key, Text: string(text)})
}

// readObject returns an object as JSON unless it is, or may be, a Secret. It reads at most maxScans
// objects at a time, and does not wait for the client to receive them.
func (h *handler) readObject(r *http.Request, view cache.View, key string) ([]byte, *failure) {
	if failed := h.acquire(r); failed != nil {
		return nil, failed
	}
	defer func() { <-h.scans }()
	if len(key) > maxText {
		return nil, &failure{http.StatusBadRequest, "The key is too long."}
	}
	obj, exists, err := view.Get(key)
	switch {
	case err != nil:
		return nil, &failure{http.StatusNotFound, shorten(err.Error(), maxCause)}
	case !exists:
		return nil, &failure{http.StatusNotFound, "The store has no object with this key."}
	}
	if refused := refuseObject(view.Kind(), obj); refused != nil {
		return nil, refused
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, &failure{http.StatusInternalServerError, "The object cannot be encoded as JSON."}
	}
	if hasSecretContent(text, mentionsSecret(view.Kind(), obj)) {
		return nil, errSecret()
	}
	var indented bytes.Buffer
	_ = json.Indent(&indented, text, "", "  ") // json.Marshal has written valid JSON
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}

func errSecret() *failure {
	return &failure{http.StatusForbidden, "The content of Secrets is never shown."}
}

// refuseObject returns why an object of an informer of a kind must not be shown. What any of the
// informer's kind, the Go type and the object's own kind says is a Secret is one.
func refuseObject(kind string, obj cache.Object) *failure {
	own := obj.GetObjectKind().GroupVersionKind().Kind
	switch {
	case isSecretKind(kind), isSecretKind(own), isSecretType(reflect.TypeOf(obj)):
		return errSecret()
	case !isKnown(kind, obj):
		return &failure{http.StatusForbidden, "The object may be a Secret: it has no apiVersion and kind of its own, and its Go type is not one of k8s.io/api."}
	}
	return nil
}

// isSecretKind reports whether objects of a kind are Secrets, or hold what becomes one, as those of
// kinds like SealedSecret do.
func isSecretKind(kind string) bool { return strings.HasSuffix(strings.ToLower(kind), "secret") }

// mentionsSecret reports whether the name of an object's kind, or of its Go type, contains Secret.
func mentionsSecret(kind string, obj cache.Object) bool {
	names := []string{kind, obj.GetObjectKind().GroupVersionKind().Kind, reflect.TypeOf(obj).String()}
	return slices.ContainsFunc(names, containsSecret)
}

func containsSecret(kind string) bool { return strings.Contains(strings.ToLower(kind), "secret") }

// isKnown reports whether it is known what an object is: by its own apiVersion and kind, by the
// kind of an informer of unstructured objects, or by a Go type of k8s.io/api, also as that of a
// PartialObject. The kind of an informer of another Go type is that type's name, which may be any.
func isKnown(kind string, obj cache.Object) bool {
	if own := obj.GetObjectKind().GroupVersionKind(); own.Version != "" && isKnownKind(own.Kind) {
		return true
	}
	if _, ok := obj.(runtime.Unstructured); ok {
		return isKnownKind(kind)
	}
	return isAPIType(reflect.TypeOf(obj))
}

// isKnownKind reports whether a kind says what an object is. Metadata-only objects have a kind of
// their own, which does not.
func isKnownKind(kind string) bool { return kind != "" && kind != "PartialObjectMetadata" }

// isAPIType reports whether a type is a pointer to one of k8s.io/api, which are named like their
// kinds.
func isAPIType(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && strings.HasPrefix(apiTypeName(t.Elem()), "k8s.io/api/")
}

// apiTypeName returns the name, after its package, of the type of the objects that the server
// sends: that of which a PartialObject has some fields, and otherwise t.
func apiTypeName(t reflect.Type) string {
	arguments, ok := strings.CutPrefix(t.Name(), "PartialObject[*")
	if !ok || t.PkgPath() != reflect.TypeFor[cache.View]().PkgPath() {
		return t.PkgPath() + "." + t.Name()
	}
	name, _, _ := strings.Cut(arguments, ",")
	return name
}

// isSecretType reports whether a Go type is named like a kind of Secrets, or is a struct that
// embeds one that is.
func isSecretType(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return isSecretKind(t.Name())
	}
	return isSecretKind(apiTypeName(t)) || slices.ContainsFunc(reflect.VisibleFields(t), func(field reflect.StructField) bool {
		return field.Anonymous && isSecretKind(field.Name) // an embedded field is named like its type
	})
}

// hasSecretContent reports whether an object's JSON looks like a Secret, whatever its kind: by its
// fields, or by the object that kubectl apply has left in an annotation. If the name of the kind
// mentions Secrets, data in the object or in its spec is enough.
func hasSecretContent(text []byte, mentions bool) bool {
	var obj struct {
		secretData

		Kind     string          `json:"kind"`
		Type     *string         `json:"type"`
		Spec     json.RawMessage `json:"spec"`
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &obj); err != nil {
		return true // it may be one
	}
	var spec secretData
	_ = json.Unmarshal(obj.Spec, &spec) // none, or no object: it has no data
	mentions = mentions || containsSecret(obj.Kind)
	switch {
	case isSecretKind(obj.Kind), len(obj.StringData) > 0, obj.Type != nil && len(obj.Data) > 0:
		return true
	case mentions && len(obj.Data)+len(spec.Data)+len(spec.StringData) > 0:
		return true
	}
	applied := []byte(obj.Metadata.Annotations[lastApplied])
	return json.Valid(applied) && hasSecretContent(applied, mentions)
}

// secretData are the fields in which Secrets have their content.
type secretData struct {
	Data       json.RawMessage `json:"data"`
	StringData json.RawMessage `json:"stringData"`
}

// lastApplied is the annotation in which kubectl apply keeps an object's content.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
