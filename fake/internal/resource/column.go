// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Column is one column of the Table representation of an object, which kubectl get prints.
type Column struct {
	metav1.TableColumnDefinition
	// Cell returns the value of the column: a string, an int64, a float64, a bool or nil.
	Cell func(obj history.Object) any
}

func column(name, columnType string, cell func(history.Object) any) Column {
	return Column{metav1.TableColumnDefinition{Name: name, Type: columnType}, cell}
}

// wide returns a column that kubectl prints only with -o wide.
func wide(name string, cell func(history.Object) any) Column {
	c := column(name, "string", cell)
	c.Priority = 1
	return c
}

func nameColumn() Column {
	c := column("Name", "string", func(obj history.Object) any { return obj.GetName() })
	c.Format = "name"
	return c
}

func ageColumn() Column {
	return column("Age", "string", func(obj history.Object) any { return age(obj.GetCreationTimestamp()) })
}

// defaultColumns returns the columns of types without specific columns.
func defaultColumns() []Column {
	return []Column{nameColumn(), column("Created At", "date", func(obj history.Object) any {
		return obj.GetCreationTimestamp().UTC().Format(time.RFC3339)
	})}
}

// age formats the time since t as kubectl does.
func age(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

func orUnknown(text string) string {
	if text == "" {
		return "<unknown>"
	}
	return text
}

func fraction[N int | int32](part, whole N) string {
	return fmt.Sprintf("%d/%d", part, whole)
}

// replicasOrOne returns the number of replicas, which defaults to 1.
func replicasOrOne(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
