// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
)

// requirements are those of a scope's selectors.
type requirements struct {
	labels []labels.Requirement
	fields fields.Requirements
}

// parsed has the requirements of scopes, each of which is parsed once.
type parsed map[Scope]requirements

// of returns the requirements of a canonical scope.
func (p parsed) of(scope Scope) requirements {
	result, ok := p[scope]
	if !ok {
		if byLabels, err := labels.Parse(scope.LabelSelector); err == nil {
			result.labels, _ = byLabels.Requirements()
		}
		if byFields, err := fields.ParseSelector(scope.FieldSelector); err == nil {
			result.fields = byFields.Requirements()
		}
		p[scope] = result
	}
	return result
}

// overlap is Overlap.
func (p parsed) overlap(a, b Scope) bool {
	if !mayShareUIDs(a, b) {
		return false
	}
	left, right := p.of(a), p.of(b)
	return !disjointLabels(left.labels, right.labels) && !disjointFields(left.fields, right.fields)
}

// disjointLabels reports whether no labels meet all requirements of two selectors, because they
// contradict each other in one key. Other selectors are taken to overlap.
func disjointLabels(lefts, rights []labels.Requirement) bool {
	for i := range lefts {
		for j := range rights {
			if lefts[i].Key() == rights[j].Key() && (contradicts(lefts[i], rights[j]) || contradicts(rights[j], lefts[i])) {
				return true
			}
		}
	}
	return false
}

// contradicts reports whether no value of a key meets both requirements. It does not find every
// contradiction unless it is called in both orders.
func contradicts(a, b labels.Requirement) bool {
	switch {
	case a.Operator() == selection.DoesNotExist:
		return b.Operator() == selection.Exists || isIn(b)
	case isIn(a) && isIn(b):
		return !a.Values().HasAny(b.Values().UnsortedList()...)
	case isIn(a) && isNotIn(b):
		return b.Values().IsSuperset(a.Values())
	}
	return false
}

func isIn(r labels.Requirement) bool {
	return sets.New(selection.In, selection.Equals, selection.DoubleEquals).Has(r.Operator())
}

func isNotIn(r labels.Requirement) bool {
	return sets.New(selection.NotIn, selection.NotEquals).Has(r.Operator())
}

// disjointFields is disjointLabels for field selectors.
func disjointFields(lefts, rights fields.Requirements) bool {
	for _, x := range lefts {
		for _, y := range rights {
			if x.Field != y.Field {
				continue
			}
			excludes := (x.Operator == selection.NotEquals) != (y.Operator == selection.NotEquals)
			bothIn := x.Operator != selection.NotEquals && y.Operator != selection.NotEquals
			if excludes && x.Value == y.Value || bothIn && x.Value != y.Value {
				return true
			}
		}
	}
	return false
}
