// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
)

// disjointLabels reports whether no labels match both of two canonical selectors, because they
// contradict each other in one key. Other selectors are taken to overlap.
func disjointLabels(a, b string) bool {
	left, _ := labels.Parse(a)
	right, _ := labels.Parse(b)
	if left == nil || right == nil {
		return false
	}
	rights, _ := right.Requirements()
	lefts, _ := left.Requirements()
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
func disjointFields(a, b string) bool {
	left, _ := fields.ParseSelector(a)
	right, _ := fields.ParseSelector(b)
	if left == nil || right == nil {
		return false
	}
	for _, x := range left.Requirements() {
		for _, y := range right.Requirements() {
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
