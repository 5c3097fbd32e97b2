// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
)

// mutants are the values, in JSON, that each field of an object gets in turn.
var mutants = []string{`null`, `""`, `"longer than all"`, `-1`, `7000000000`, `[]`, `{}`}

// mutations returns the steps that send the object of a MUTATE step with one field of its spec or
// status removed or replaced, and each list with its first item twice.
func (s step) mutations() ([]step, error) {
	var object map[string]any
	if err := json.Unmarshal([]byte(s.body), &object); err != nil {
		return nil, fmt.Errorf("decode object of %s: %w", s.verb, err)
	}
	m := &mutation{template: s, object: object}
	m.template.verb = s.name
	for _, part := range []string{"spec", "status"} {
		m.mutateField(object, part, "/"+part)
	}
	return m.steps, m.err
}

// mutation collects the steps of one MUTATE step.
type mutation struct {
	template step
	object   map[string]any // changed in place, and back
	steps    []step
	err      error
}

// add adds a step with the current state of the object.
func (m *mutation) add(path, change string) {
	body, err := json.Marshal(m.object)
	if err != nil {
		m.err = err
	}
	s := m.template
	s.text, s.body = fmt.Sprintf("MUTATE %s %s %s", s.verb, path, change), string(body)
	m.steps = append(m.steps, s)
}

func (m *mutation) mutateField(parent map[string]any, name, path string) {
	value, found := parent[name]
	if !found {
		return
	}
	delete(parent, name)
	m.add(path, "removed")
	m.mutateValue(value, path, func(v any) { parent[name] = v })
}

// mutateValue adds the steps of a value, which set replaces. It sets the value back at the end.
func (m *mutation) mutateValue(value any, path string, set func(any)) {
	for _, text := range mutants {
		var mutant any
		if err := json.Unmarshal([]byte(text), &mutant); err != nil {
			m.err = err
		}
		set(mutant)
		m.add(path, text)
	}
	set(value)
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			m.mutateField(value, name, path+"/"+name)
		}
	case []any:
		if len(value) > 0 {
			set(append(slices.Clone(value), runtime.DeepCopyJSONValue(value[0])))
			m.add(path, "with its first item twice")
			set(value)
		}
		for i, item := range value {
			m.mutateValue(item, path+"/"+strconv.Itoa(i), func(v any) { value[i] = v })
		}
	}
}
