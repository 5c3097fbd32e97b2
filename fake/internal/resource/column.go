package resource

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Column is one column of the Table that an object is shown as to people, by kubectl get.
type Column struct {
	metav1.TableColumnDefinition
	// Cell returns what stands in the column: text, an int64, a float64, a bool or nil.
	Cell func(obj history.Object) any
}

func column(name, columnType string, cell func(history.Object) any) Column {
	return Column{metav1.TableColumnDefinition{Name: name, Type: columnType}, cell}
}

// wide returns a column that is shown only when more than usual is asked for.
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
	return column("Age", "string", func(obj history.Object) any { return since(obj.GetCreationTimestamp()) })
}

// defaultColumns is how objects are shown that have no columns of their own.
func defaultColumns() []Column {
	return []Column{nameColumn(), column("Created At", "date", func(obj history.Object) any {
		return obj.GetCreationTimestamp().UTC().Format(time.RFC3339)
	})}
}

// since writes how long ago something was, as kubectl does.
func since(t metav1.Time) string {
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

// share writes how many of how many.
func share[N int | int32](part, whole N) string {
	return fmt.Sprintf("%d/%d", part, whole)
}

// deref returns what an optional field means when it is not set.
func deref(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func count(n int) string { return strconv.Itoa(n) }
