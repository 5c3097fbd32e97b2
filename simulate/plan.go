// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
)

// plan decides what happens in a run: the order of stimuli and the disturbances.
type plan struct {
	seed         uint64 // of the order; 0 is the order of arrival
	disturbances []Disturbance
}

// at returns the disturbances at a write.
func (p plan) at(point string) []Disturbance {
	var all []Disturbance
	for _, d := range p.disturbances {
		if d.place() == point {
			all = append(all, d)
		}
	}
	return all
}

// String returns the arguments of Replay.
func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", p.seed)
	for _, d := range p.disturbances {
		b.WriteString(", " + d.String())
	}
	return b.String()
}

// parsePlan parses the arguments of Replay after t and test, as a report prints them.
func parsePlan(text string) (plan, error) {
	expr, err := parser.ParseExpr("f(" + text + ")")
	if err != nil {
		return plan{}, fmt.Errorf("parse %q: %w", text, err)
	}
	args := expr.(*ast.CallExpr).Args
	if len(args) == 0 {
		return plan{}, fmt.Errorf("parse %q: no seed", text)
	}
	var p plan
	if p.seed, err = parseNumber(args[0]); err != nil {
		return plan{}, fmt.Errorf("parse the seed of %q: %w", text, err)
	}
	for _, arg := range args[1:] {
		d, err := parseDisturbance(arg)
		if err != nil {
			return plan{}, fmt.Errorf("parse %q: %w", text, err)
		}
		p.disturbances = append(p.disturbances, d)
	}
	return p, nil
}

// parseDisturbance parses a composite literal, such as simulate.Crash{Before: "1st create of pods
// default/a"}.
func parseDisturbance(expr ast.Expr) (Disturbance, error) {
	literal, ok := expr.(*ast.CompositeLit)
	if !ok {
		return nil, fmt.Errorf("no composite literal")
	}
	selector, ok := literal.Type.(*ast.SelectorExpr)
	if !ok {
		return nil, fmt.Errorf("a composite literal whose type is not of package simulate")
	}
	for _, zero := range append(everything(), BackInTime{}) {
		value := reflect.New(reflect.TypeOf(zero)).Elem()
		if value.Type().Name() != selector.Sel.Name {
			continue
		}
		for _, element := range literal.Elts {
			if err := setField(value, element); err != nil {
				return nil, fmt.Errorf("%s: %w", selector.Sel.Name, err)
			}
		}
		return value.Interface().(Disturbance), nil
	}
	return nil, fmt.Errorf("unknown disturbance %s", selector.Sel.Name)
}

func setField(value reflect.Value, element ast.Expr) error {
	pair, ok := element.(*ast.KeyValueExpr)
	if !ok {
		return fmt.Errorf("a field without its name")
	}
	name, ok := pair.Key.(*ast.Ident)
	if !ok {
		return fmt.Errorf("a field without its name")
	}
	field := value.FieldByName(name.Name)
	if !field.IsValid() {
		return fmt.Errorf("unknown field %s", name.Name)
	}
	if field.Kind() == reflect.String {
		literal, ok := pair.Value.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return fmt.Errorf("field %s: not a string", name.Name)
		}
		text, err := strconv.Unquote(literal.Value)
		field.SetString(text)
		return err
	}
	if field.Kind() == reflect.Bool {
		name, ok := pair.Value.(*ast.Ident)
		if !ok || name.Name != "true" {
			return fmt.Errorf("field %s: not true", name)
		}
		field.SetBool(true)
		return nil
	}
	n, err := parseNumber(pair.Value)
	field.SetInt(int64(n))
	return err
}

func parseNumber(expr ast.Expr) (uint64, error) {
	literal, ok := expr.(*ast.BasicLit)
	if !ok || literal.Kind != token.INT {
		return 0, fmt.Errorf("not a number")
	}
	return strconv.ParseUint(literal.Value, 10, 64)
}
