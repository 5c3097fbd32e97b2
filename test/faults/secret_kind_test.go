// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestWrongKindHasNoContentInLogs lists and watches Secrets whose kind or apiVersion is a value
// that must not be shown.
func TestWrongKindHasNoContentInLogs(t *testing.T) {
	list := func(kind, apiVersion string) *body {
		return &body{runtime.ContentTypeJSON, `{"kind":"` + kind + `","apiVersion":"` + apiVersion + `","metadata":{"resourceVersion":"4"},"items":[]}`}
	}
	event := func(kind, apiVersion string) *body {
		return &body{runtime.ContentTypeJSON, `{"type":"ADDED","object":{"kind":"` + kind + `","apiVersion":"` + apiVersion + `","metadata":{"name":"s","namespace":"ns","resourceVersion":"5"}}}`}
	}
	informers := secretInformers(false)
	for _, informer := range []string{"typed", "partial", "adapter"} {
		for name, of := range map[string][2]string{
			"kind":               {secretText, "v1"},
			"apiVersion":         {"Secret", secretText + "/v1"},
			"invalid apiVersion": {"Secret", secretText + "/v1/" + secretText},
		} {
			t.Run(fmt.Sprintf("%s, %s", informer, name), func(t *testing.T) {
				expectNoContent(t, list(of[0], of[1]), nil, false, informers[informer])
				expectNoContent(t, nil, event(of[0], of[1]), false, informers[informer])
			})
		}
	}
}

// ownSecret has a field that decodes itself.
type ownSecret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec ownSpec `json:"spec"`
}

// DeepCopyObject implements runtime.Object.
func (s *ownSecret) DeepCopyObject() runtime.Object {
	c := *s
	return &c
}

type ownSpec struct{ password string }

// UnmarshalJSON implements json.Unmarshaler. Its error has the value.
func (s *ownSpec) UnmarshalJSON(b []byte) error {
	return fmt.Errorf("invalid spec after %q: %q", s.password, b)
}

// TestErrorOfOwnUnmarshalJSONHasNoContentInLogs lists objects as a client does that has no tap: it
// returns the error of the type's own UnmarshalJSON as it is.
func TestErrorOfOwnUnmarshalJSONHasNoContentInLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		checkContent(t, func(ctx context.Context) string {
			lw := &cache.ListWatch{
				ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
					return nil, json.Unmarshal([]byte(`{"metadata":{"name":"s"},"spec":"`+secretText+`"}`), &ownSecret{})
				},
				WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
					return nil, errors.New("unexpected watch")
				},
			}
			text := runSecrets(ctx, lw, &ownSecret{}, false)
			if !cachetest.ErrorContains("invalid spec after")(errors.New(text)) {
				t.Errorf("the error is not reported: %s", text)
			}
			return text
		})
	})
}
