package cache

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/store"
)

// A Lister of packed objects decodes what it returns and nothing else: of objects that
// cannot be decoded it reports exactly those that it ought to have found, by an index of
// namespaces wherever that is declared, and without one.
func TestListerDecodesOnlyWhatMatches(t *testing.T) {
	for name, options := range map[string]InformerOptions[*corev1.Pod]{
		"index on metadata": {Indexers: Indexers[*corev1.Pod]{NamespaceIndex: ByMetadata[*corev1.Pod](MetaNamespaceIndexFunc)}},
		"no index":          {},
	} {
		for _, c := range []struct {
			selector, namespace string
			tried               []string
		}{
			{"app=c", "", nil},
			{"app=a", "", []string{"ns/a"}},
			{"app", "", []string{"ns/a", "ns/b"}},
			{"app=c", "ns", nil},
			{"app=b", "ns", []string{"ns/b"}},
			{"app", "other", nil},
			{"", "other", nil},
			{"", "ns", []string{"ns/a", "ns/b"}},
		} {
			var reported []string
			lister := undecodableLister(t, options, func(key string) { reported = append(reported, key) })
			selector, err := labels.Parse(c.selector)
			if err != nil {
				t.Fatal(err)
			}
			if pods := lister.Namespace(c.namespace).List(selector); len(pods) != 0 {
				t.Errorf("%s: %q in %q finds %v", name, c.selector, c.namespace, pods)
			}
			if slices.Sort(reported); !slices.Equal(reported, c.tried) {
				t.Errorf("%s: %q in %q has decoded %q, want %q", name, c.selector, c.namespace, reported, c.tried)
			}
		}
	}
}

// undecodableLister returns a Lister of Pods a and b in namespace ns, packed.
func undecodableLister(t *testing.T, options InformerOptions[*corev1.Pod], report func(key string)) Lister[*corev1.Pod] {
	t.Helper()
	options.Packed = true
	objects, err := objectType(&corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	config := options.engineConfig(objects, &reporter{}).Store
	config.Report = func(key string, _ error) { report(key) }
	kept := store.New(config)
	kept.Apply(watch.Added, undecodable(t, "a"))
	kept.Apply(watch.Added, undecodable(t, "b"))
	return NewLister(reader[*corev1.Pod]{kept, config.Key}, corev1.Resource("pods"))
}
