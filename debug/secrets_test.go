// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// password is what no answer may have, in none of its encodings.
const password = "correct horse battery staple"

var encodedPassword = base64.StdEncoding.EncodeToString([]byte(password))

// applied is an annotation as kubectl apply leaves it on a Secret.
var applied = map[string]string{
	"kubectl.kubernetes.io/last-applied-configuration": fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","data":{"password":%q}}`, encodedPassword),
}

func secretMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ns", Name: "web", Annotations: applied}
}

func typedSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: secretMeta(), Data: map[string][]byte{"password": []byte(password)}, Type: corev1.SecretTypeOpaque}
}

func unstructuredSecret() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"password": encodedPassword}}}
	obj.SetNamespace("ns")
	obj.SetName("web")
	return obj
}

// metadataOnly returns a Secret's metadata with the type of a list's items, and with its own kind.
func metadataOnly(kind string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}, ObjectMeta: secretMeta()}
}

// credentials is a program's own type for Secrets.
type credentials struct {
	corev1.Secret
}

func (c *credentials) DeepCopyObject() runtime.Object {
	return &credentials{*c.Secret.DeepCopy()}
}

// slim is a program's own type for some fields of Secrets.
type slim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Type string            `json:"type"`
	Data map[string][]byte `json:"data"`
}

func (s *slim) DeepCopyObject() runtime.Object {
	c := *s
	return &c
}

// values is a program's own type for the data of Secrets alone.
type values struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Data map[string][]byte `json:"data"`
}

func (v *values) DeepCopyObject() runtime.Object {
	c := *v
	return &c
}

// stored returns an informer whose store has one object, transformed.
func stored[T cache.Object](t *testing.T, obj T) *cache.SharedInformer[T] {
	t.Helper()
	server := fake.NewListerWatcher(obj)
	server.Create(obj)
	informer := cache.NewSharedInformer(server, obj, cache.InformerOptions[T]{Name: "secrets"})
	run(t, informer)
	return informer
}

// storedFields returns an informer of the data of a Secret.
func storedFields(t *testing.T, packed bool) cache.Viewable {
	t.Helper()
	type secret = cache.PartialObject[*corev1.Secret, struct {
		Data map[string][]byte `json:"data"`
	}]
	server := fake.NewListerWatcher(&corev1.Secret{})
	server.Create(typedSecret())
	informer := cache.NewSharedInformer(server, &secret{}, cache.InformerOptions[*secret]{Packed: packed})
	run(t, informer)
	return informer
}

// TestSecretsAreNeverShown requests the content of Secrets in every form that a store may have.
func TestSecretsAreNeverShown(t *testing.T) {
	for name, informer := range map[string]func(t *testing.T) cache.Viewable{
		"typed":                    func(t *testing.T) cache.Viewable { return stored(t, typedSecret()) },
		"unstructured":             func(t *testing.T) cache.Viewable { return stored(t, unstructuredSecret()) },
		"metadata of its own kind": func(t *testing.T) cache.Viewable { return stored(t, metadataOnly("Secret")) },
		"metadata of a kind that ends in Secret": func(t *testing.T) cache.Viewable {
			return stored(t, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SealedSecret"}, ObjectMeta: metav1.ObjectMeta{Name: "web"}})
		},
		"metadata in a list":       func(t *testing.T) cache.Viewable { return stored(t, metadataOnly("PartialObjectMetadata")) },
		"metadata of another kind": func(t *testing.T) cache.Viewable { return stored(t, metadataOnly("Pod")) },
		"embedded":                 func(t *testing.T) cache.Viewable { return stored(t, &credentials{*typedSecret()}) },
		"some fields, live":        func(t *testing.T) cache.Viewable { return storedFields(t, false) },
		"some fields, packed":      func(t *testing.T) cache.Viewable { return storedFields(t, true) },
		"own type": func(t *testing.T) cache.Viewable {
			return stored(t, &slim{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Type: "Opaque", Data: typedSecret().Data})
		},
		"own type of data": func(t *testing.T) cache.Viewable {
			return stored(t, &values{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: typedSecret().Data})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shown := informer(t)
				handler := Handler(withObjects, shown)
				id := shown.Views()[0].ID()
				keys, _ := shown.Views()[0].FindKeys("", 1)
				for _, target := range []string{"/", "/informers.json", page("informer", id, ""), page("informer.json", id, ""),
					page("object", id, keys[0]), page("object.json", id, keys[0])} {
					answer := serve(t, handler, "GET "+target)
					expectNot(t, answer.Body.String(), password, encodedPassword)
					if want := strings.HasPrefix(target, "/object"); (answer.Code == http.StatusForbidden) != want {
						t.Errorf("%s: got status %d", target, answer.Code)
					}
				}
			})
		})
	}
}

// page returns the address of a page of an informer.
func page(name string, id uint64, key string) string {
	if key == "" {
		return fmt.Sprintf("/%s?id=%d", name, id)
	}
	return fmt.Sprintf("/%s?id=%d&key=%s", name, id, key)
}

// ofKind returns an unstructured object with the content of a JSON object.
func ofKind(t *testing.T, kind, content string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(content), &obj.Object); err != nil {
		t.Fatal(err)
	}
	obj.SetAPIVersion("example.com/v1")
	obj.SetKind(kind)
	obj.SetNamespace("ns")
	obj.SetName("web")
	return obj
}

// withApplied returns an object with an annotation as kubectl apply leaves it.
func withApplied(obj *unstructured.Unstructured, applied string) *unstructured.Unstructured {
	obj.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": applied})
	return obj
}

// TestKindsThatHoldSecretsAreNotShown requests the content of objects of resources that Secrets are
// made of, or that are named like them.
func TestKindsThatHoldSecretsAreNotShown(t *testing.T) {
	for _, test := range []struct {
		name   string
		obj    *unstructured.Unstructured
		hidden bool
	}{
		{"ends in Secret", ofKind(t, "SealedSecret", `{"spec":{"encryptedData":{"a":"b"}}}`), true},
		{"ends in Secret, lower case", ofKind(t, "vaultsecret", `{}`), true},
		{"data at the top", ofKind(t, "SecretTemplate", `{"data":{"a":"b"}}`), true},
		{"stringData at the top", ofKind(t, "SecretTemplate", `{"stringData":{"a":"b"}}`), true},
		{"data in spec", ofKind(t, "SecretTemplate", `{"spec":{"data":{"a":"b"}}}`), true},
		{"stringData in spec", ofKind(t, "VaultSecretGroup", `{"spec":{"stringData":{"a":"b"}}}`), true},
		{"data in spec, lower case", ofKind(t, "clustersecrets", `{"spec":{"data":{"a":"b"}}}`), true},
		{"data in spec, in an annotation", withApplied(ofKind(t, "PodLike", `{}`), `{"kind":"SecretTemplate","spec":{"data":{"a":"b"}}}`), true},
		{"ends in Secret, in an annotation", withApplied(ofKind(t, "PodLike", `{}`), `{"kind":"SealedSecret"}`), true},
		{"no data", ofKind(t, "SecretStore", `{"spec":{"provider":"vault"}}`), false},
		{"a spec that is no object", ofKind(t, "SecretStore", `{"spec":"vault"}`), false},
		{"data of another kind", ofKind(t, "Settings", `{"data":{"a":"b"},"spec":{"data":{"a":"b"}}}`), false},
		{"an annotation that is no JSON", withApplied(ofKind(t, "Settings", `{}`), "a"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shown := stored(t, test.obj)
				view := shown.Views()[0]
				keys, _ := view.FindKeys("", 1)
				answer := serve(t, Handler(withObjects, shown), "GET "+page("object.json", view.ID(), keys[0]))
				if hidden := answer.Code == http.StatusForbidden; hidden != test.hidden {
					t.Errorf("got status %d: %s", answer.Code, answer.Body)
				}
			})
		})
	}
}
