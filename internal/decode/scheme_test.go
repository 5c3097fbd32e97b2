package decode

import (
	"fmt"
	"reflect"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
)

// generated is what the types of the scheme have.
type generatedMessage interface {
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// generatedTypes are all types of the scheme that protobuf can encode, and the
// metadata of any object.
func generatedTypes(tb testing.TB) (types []reflect.Type) {
	tb.Helper()
	seen := map[reflect.Type]bool{}
	for _, t := range scheme.Scheme.AllKnownTypes() {
		if !seen[t] && reflect.PointerTo(t).Implements(reflect.TypeFor[generatedMessage]()) {
			seen[t] = true
			types = append(types, t)
		}
	}
	types = append(types, reflect.TypeFor[metav1.PartialObjectMetadata]())
	sort.Slice(types, func(i, j int) bool { return types[i].String() < types[j].String() })
	if len(types) < 300 {
		tb.Fatalf("only %d types; where has the scheme gone?", len(types))
	}
	return types
}

// newFiller returns what fills objects with anything that can be encoded and that
// is the same when it was decoded again. density is how often something optional
// is there.
func newFiller(seed int64, density float64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(1-density).NumElements(1, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse([]string{"0", "1", "250m", "1500m", "64Mi", "12e6", "-3", "123456789012345678901234567890", "0.5Gi", "1n"}[c.Intn(10)])
		},
		func(t *metav1.Time, c randfill.Continue) { t.Time = time.Unix(c.Int63n(1<<33), 0).Local() },
		func(t *metav1.MicroTime, c randfill.Continue) { t.Time = time.UnixMicro(c.Int63n(1 << 53)).Local() },
		func(f *metav1.FieldsV1, c randfill.Continue) { f.SetRawString(fmt.Sprintf(`{"f:%s":{}}`, c.String(8))) },
		func(r *runtime.RawExtension, c randfill.Continue) { r.Raw = []byte(c.String(20)) },
		func(r *runtime.Object, _ randfill.Continue) { *r = nil },
		func(i *intstr.IntOrString, c randfill.Continue) {
			*i = intstr.FromInt32(c.Int31())
			if c.Bool() {
				*i = intstr.FromString(c.String(5))
			}
		},
		func(s *string, c randfill.Continue) {
			switch c.Intn(6) {
			case 0:
				*s = ""
			case 1:
				*s = c.String(300)
			default:
				*s = []string{"a", "kubernetes.io/metadata.name", "http", "default"}[c.Intn(4)]
			}
		},
		func(t *metav1.TypeMeta, _ randfill.Continue) { *t = metav1.TypeMeta{} },
	)
}

// encoded returns a random object of a type in its encoding.
func randomEncoding(tb testing.TB, t reflect.Type, seed int64, density float64) []byte {
	tb.Helper()
	object := reflect.New(t).Interface().(generatedMessage)
	newFiller(seed, density).Fill(object)
	raw, err := object.Marshal()
	if err != nil {
		tb.Fatalf("%s, seed %d: %v", t, seed, err)
	}
	return raw
}

// unmarshal decodes with the generated code.
func unmarshal(t reflect.Type, raw []byte) (object any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	object = reflect.New(t).Interface()
	return object, object.(generatedMessage).Unmarshal(raw)
}

func newDecoder(tb testing.TB, t reflect.Type, options Options) *Decoder {
	tb.Helper()
	d, err := New(t, options)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// bothWays are a decoder that shares little, and one that shares all.
func decodersOf(tb testing.TB, t reflect.Type) []*Decoder {
	tb.Helper()
	return []*Decoder{newDecoder(tb, t, Options{}), newDecoder(tb, t, Options{ShareEqual: true})}
}

// agree compares what a decoder makes of bytes with what the generated code does.
func agree(tb testing.TB, d *Decoder, raw []byte) {
	tb.Helper()
	t := d.root.goType
	want, wantErr := unmarshal(t, raw)
	got, err := d.Decode(raw)
	if (err == nil) != (wantErr == nil) {
		tb.Fatalf("%s, ShareEqual %v: error %v, but Unmarshal returns %v\n%x", t, d.shared != nil, err, wantErr, raw)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		tb.Fatalf("%s, ShareEqual %v: (-generated, +ours)\n%s\n%x", t, d.shared != nil, cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })), raw)
	}
}

// TestSameAsGenerated decodes objects of all types of the scheme, full ones and
// ones with gaps, each twice, so that the second time finds what is shared.
func TestDecodesLikeGeneratedCode(t *testing.T) {
	for _, goType := range generatedTypes(t) {
		for _, d := range decodersOf(t, goType) {
			for seed := range int64(6) {
				raw := randomEncoding(t, goType, seed, []float64{1, 0.5, 0.2}[seed%3])
				agree(t, d, raw)
				agree(t, d, raw)
			}
		}
	}
}

// TestEveryTypeIsPlanned holds that no type of the scheme goes through its
// Unmarshal unnoticed.
func TestEveryTypeHasAPlan(t *testing.T) {
	c := &compiler{messages: map[reflect.Type]*messagePlan{}}
	for _, goType := range generatedTypes(t) {
		c.plan(goType)
	}
	foreign := 0
	for goType, m := range c.messages {
		if m.custom != nil && customDecoder(goType) == nil && goType.Kind() == reflect.Struct {
			t.Errorf("%s goes through its Unmarshal", goType)
			foreign++
		}
	}
	t.Logf("%d types, %d of them through Unmarshal", len(c.messages), foreign)
}

// TestTruncated cuts an object off everywhere.
func TestTruncatedInput(t *testing.T) {
	goType := reflect.TypeFor[corev1.Pod]()
	raw := randomEncoding(t, goType, 1, 0.2)
	for _, d := range decodersOf(t, goType) {
		for end := 0; end < len(raw); end += 1 + len(raw)/2000 {
			agree(t, d, raw[:end])
		}
	}
}
