// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/wire"
)

// password is the value in secretExample, which must not be kept.
const password = "hunter2-hunter2-hunter2"

func secretExample() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s", Labels: map[string]string{"app": "db"}, Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: `{"stringData":{"password":"` + password + `"}}`,
			"tool/original":                    base64.StdEncoding.EncodeToString([]byte(password)),
		}},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{"password": []byte(password), "empty": {}},
		StringData: map[string]string{"text": password},
	}
}

// expectNoPassword checks that no bytes have the password, in plain text or in base64.
func expectNoPassword(t *testing.T, where string, kept []byte) {
	t.Helper()
	for _, text := range []string{password, base64.StdEncoding.EncodeToString([]byte(password))} {
		if bytes.Contains(kept, []byte(text)) {
			t.Errorf("%s has %q: %q", where, text, kept)
		}
	}
}

// expectSameShape checks that all but the values of a Secret is that of secretExample.
func expectSameShape(t *testing.T, got *corev1.Secret) {
	t.Helper()
	want := secretExample()
	if got.Name != want.Name || got.Namespace != want.Namespace || got.Labels["app"] != "db" || got.Type != want.Type {
		t.Errorf("metadata changed: %+v", got)
	}
	for key, value := range want.Data {
		if kept, ok := got.Data[key]; !ok || len(kept) != len(value) {
			t.Errorf("data %s has %d bytes, want %d", key, len(kept), len(value))
		}
	}
	for key, value := range want.Annotations {
		if len(got.Annotations[key]) != len(value) {
			t.Errorf("annotation %s has %d bytes, want %d", key, len(got.Annotations[key]), len(value))
		}
	}
	// An API server stores stringData as data.
	if text := len(got.StringData["text"]) + len(got.Data["text"]); text != len(password) {
		t.Errorf("stringData has %d bytes, want %d", text, len(password))
	}
}

func TestSecretsAreKeptWithoutTheirValues(t *testing.T) {
	decoders := map[wire.Format]func([]byte, *corev1.Secret) error{
		wire.Protobuf: func(raw []byte, secret *corev1.Secret) error { return secret.Unmarshal(raw) },
		wire.JSON:     func(raw []byte, secret *corev1.Secret) error { return json.Unmarshal(raw, secret) },
	}
	for format, decode := range decoders {
		t.Run(format.String(), func(t *testing.T) {
			raw, err := secretExample().Marshal()
			if format == wire.JSON {
				raw, err = json.Marshal(secretExample())
			}
			if err != nil {
				t.Fatal(err)
			}
			kept, err := keepSecret(&wire.Item{Raw: raw, Format: format})
			if err != nil {
				t.Fatal(err)
			}
			expectNoPassword(t, "the copy", kept)
			expectNoPassword(t, "the buffer", raw)
			var got corev1.Secret
			if err := decode(kept, &got); err != nil {
				t.Fatal(err)
			}
			expectSameShape(t, &got)
		})
	}
}

// keptBuffers is a body that keeps the buffers into which it was read.
type keptBuffers struct {
	io.Reader
	buffers [][]byte
}

func (k *keptBuffers) Read(p []byte) (int, error) {
	k.buffers = append(k.buffers, p)
	return k.Reader.Read(p)
}

func TestBuffersKeepNoSecretAfterTheLimit(t *testing.T) {
	item, err := json.Marshal(secretExample())
	if err != nil {
		t.Fatal(err)
	}
	body := &keptBuffers{Reader: strings.NewReader(fmt.Sprintf(`{"kind":"SecretList","apiVersion":"v1","items":[%s,%s,%s]}`, item, item, item))}
	_, err = split(body, wire.JSON, 1, func(item *wire.Item) error { clear(item.Raw); return nil })
	if !errors.Is(err, errNotPaged) {
		t.Errorf("error %v, want %v", err, errNotPaged)
	}
	for _, buffer := range body.buffers {
		expectNoPassword(t, "a buffer", buffer)
	}
}

func TestEncodedSecretIsReplacedInPlace(t *testing.T) {
	raw, err := secretExample().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := scrambleMessage(raw); err != nil {
		t.Fatal(err)
	}
	expectNoPassword(t, "the message", raw)
	var got corev1.Secret
	if err := got.Unmarshal(raw); err != nil {
		t.Fatal(err)
	}
	expectSameShape(t, &got)
}

func TestErrorOfASecretDoesNotQuoteIt(t *testing.T) {
	for _, format := range []wire.Format{wire.Protobuf, wire.JSON} {
		raw := []byte(`{"data":{"password":"` + password + `"}}`)
		if _, err := keepSecret(&wire.Item{Raw: raw, Format: format}); !errors.Is(err, errSecret) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: error %v", format, err)
		}
		expectNoPassword(t, "the buffer", raw)
	}
}

func TestSecretsOfAServerAreReadWithoutTheirValues(t *testing.T) {
	server := clustertest.Start(t, fake.APIServerOptions{})
	server.Create(secretExample())
	client := server.Client(cluster.Options{})
	e, err := EstimateResource(client, server.Resource(client, "secrets"), "", runtime.ContentTypeProtobuf)
	if err != nil {
		t.Fatal(err)
	}
	c, err := (&Reader{Client: client}).Read(e)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Items) != 1 {
		t.Fatalf("%d Secrets, want 1", len(c.Items))
	}
	expectNoPassword(t, "the collection", c.Items[0])
	var got corev1.Secret
	if err := got.Unmarshal(c.Items[0]); err != nil {
		t.Fatal(err)
	}
	expectSameShape(t, &got)
}
