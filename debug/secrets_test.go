// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug_test

import (
	"encoding/base64"
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
	"github.com/kinformer/kinformer/debug"
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

// TestSecretsAreNeverShown requests the content of Secrets in every form that a store may have.
func TestSecretsAreNeverShown(t *testing.T) {
	for name, informer := range map[string]func(t *testing.T) cache.Viewable{
		"typed":                    func(t *testing.T) cache.Viewable { return stored(t, typedSecret()) },
		"unstructured":             func(t *testing.T) cache.Viewable { return stored(t, unstructuredSecret()) },
		"metadata of its own kind": func(t *testing.T) cache.Viewable { return stored(t, metadataOnly("Secret")) },
		"metadata in a list":       func(t *testing.T) cache.Viewable { return stored(t, metadataOnly("PartialObjectMetadata")) },
		"metadata of another kind": func(t *testing.T) cache.Viewable { return stored(t, metadataOnly("Pod")) },
		"embedded":                 func(t *testing.T) cache.Viewable { return stored(t, &credentials{*typedSecret()}) },
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
				handler := debug.Handler(withObjects, shown)
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
