// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package randomapi

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
)

// Object is implemented by the types of the API that a server has collections of.
type Object interface {
	runtime.Object
	metav1.Object
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// Types returns the types of client-go's scheme whose values have metadata, as pointers.
func Types(tb testing.TB) (types []reflect.Type) {
	tb.Helper()
	seen := map[reflect.Type]bool{}
	for _, t := range scheme.Scheme.AllKnownTypes() {
		if pointer := reflect.PointerTo(t); !seen[t] && pointer.Implements(reflect.TypeFor[Object]()) {
			seen[t] = true
			types = append(types, pointer)
		}
	}
	types = append(types, reflect.TypeFor[*metav1.PartialObjectMetadata]())
	sort.Slice(types, func(i, j int) bool { return types[i].String() < types[j].String() })
	if len(types) < 100 {
		tb.Fatalf("found %d types in the scheme, want at least 100", len(types))
	}
	return types
}

// New returns an object of a pointer type with random values that survive both encodings. Lists and
// maps that are set may be empty.
func New(t reflect.Type, seed int64) Object {
	object := reflect.New(t.Elem()).Interface().(Object)
	density := []float64{0.3, 0.8, 1}[seed%3]
	newFiller(seed, density, int(seed/3%2)).Fill(object)
	return object
}

// newFiller returns a filler whose lists and maps have at least a number of elements. density is
// the probability that an optional value is set.
func newFiller(seed int64, density float64, elements int) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(1-density).NumElements(elements, 2).MaxDepth(10).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse([]string{"0", "1", "250m", "64Mi", "123456789012345678901234567890"}[c.Intn(5)])
		},
		func(t *metav1.Time, c randfill.Continue) { t.Time = time.Unix(c.Int63n(1<<33), 0).Local() },
		func(t *metav1.MicroTime, c randfill.Continue) { t.Time = time.UnixMicro(c.Int63n(1 << 53)).Local() },
		func(f *metav1.FieldsV1, c randfill.Continue) { f.SetRawString(fmt.Sprintf(`{"f:a%d":{}}`, c.Intn(9))) },
		func(r *runtime.RawExtension, c randfill.Continue) { r.Raw = []byte(`{"a":{"b":[1,{}]}}`) },
		func(r *runtime.Object, _ randfill.Continue) { *r = nil },
		func(m *metav1.TypeMeta, c randfill.Continue) {
			*m = metav1.TypeMeta{}
			if c.Bool() {
				*m = metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Example"}
			}
		},
		func(s *string, c randfill.Continue) {
			*s = []string{"", "a", "k8s.io/name", `"\` + "\n", "<default>", "é", strings.Repeat("long", 60)}[c.Intn(7)]
		},
	)
}
