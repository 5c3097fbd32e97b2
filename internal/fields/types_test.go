// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// base is embedded, and cannot be set by reflection, since it is not exported.
type base struct {
	Colour string `json:"colour,omitempty"`
}

// Rules is a list with its own form in JSON.
type Rules []element

func (r *Rules) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, (*[]element)(r)) }

// Labels is a map with its own form in JSON.
type Labels map[string]string

func (l *Labels) UnmarshalJSON(raw []byte) error {
	return json.Unmarshal(raw, (*map[string]string)(l))
}

// Items is an embedded list, which encoding/json names like its type.
type Items []element

// unusual has what custom resources may have, and the types of Kubernetes do not.
type unusual struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	base              `json:",inline"`
	Items             `json:",omitempty"`

	Tags   *map[string]string   `json:"tags,omitempty"`
	List   []*map[string]string `json:"list,omitempty"`
	Rules  Rules                `json:"rules,omitempty"`
	Labels Labels               `json:"ownLabels,omitempty"`
	*Recursive
}

// Recursive embeds itself.
type Recursive struct{ *Recursive }

func (u *unusual) DeepCopyObject() runtime.Object { return u }

func TestUnusualTypes(t *testing.T) {
	goType := reflect.TypeFor[*unusual]()
	for path, want := range map[string]string{
		"colour":       `has no field "colour"`,
		"rules.A":      "fields.Rules, which has no fields",
		"ownLabels[a]": "is no map",
		"A":            `has no field "A"`,
		"shape":        `has no field "shape"`,
	} {
		if _, err := Omit(goType, []string{path}, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Omit(%q) returned %v, want an error with %q", path, err, want)
		}
	}
	for path, raw := range map[string]string{
		"tags[a]": `{"tags":{"a":"b"}}`,
		"list[a]": `{"list":[{"a":"b"},{"a":"b","c":"d"}]}`,
		"Items.A": `{"Items":[{"A":1,"B":2}]}`,
		"rules":   `{"rules":[{"A":1}]}`,
	} {
		fields, err := Omit(goType, []string{path}, true)
		if err != nil {
			t.Errorf("Omit(%q) returned %v", path, err)
			continue
		}
		decode := func(raw []byte) (runtime.Object, error) {
			decoded := &unusual{}
			return decoded, kjson.UnmarshalCaseSensitivePreserveInts(raw, decoded)
		}
		checkPod(t, fields, []byte(raw), fields.AppendJSON, decode)
	}
}
