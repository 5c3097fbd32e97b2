// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"maps"
	"strings"
	"testing"
)

const constructorsOfAFile = `package cache

// A comment.
func NewInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler) (Store, Controller) {
	return nil, nil
}

func (s *store) NewInformerWithOptions() {}

func NewSharedIndexInformerWithOptions(
	lw ListerWatcher,
	exampleObject runtime.Object,
	options SharedIndexInformerOptions,
) SharedIndexInformer {
	return nil
}
`

func TestConstructorsCallTheVariable(t *testing.T) {
	missing := constructors()
	edited, err := editConstructors("x.go", []byte(constructorsOfAFile), missing)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"if KinformerTry.NewInformer != nil { kinformerTryCount('k'); return KinformerTry.NewInformer(lw, objType, resyncPeriod, h) }; kinformerTryCount('c');\n\treturn nil, nil\n",
		"return KinformerTry.NewSharedIndexInformerWithOptions(lw, exampleObject, options) }; kinformerTryCount('c');\n\treturn nil\n",
	} {
		if !strings.Contains(string(edited), text) {
			t.Errorf("%q is not in\n%s", text, edited)
		}
	}
	if want, got := strings.Count(constructorsOfAFile, "\n"), strings.Count(string(edited), "\n"); got != want {
		t.Errorf("%d lines, want %d", got, want)
	}
	if len(missing) != len(constructors())-2 {
		t.Errorf("missing: %v", missing)
	}
}

func TestFilesWithoutConstructorsAreNotEdited(t *testing.T) {
	missing := constructors()
	edited, err := editConstructors("x.go", []byte("package cache\n\nfunc NewStore() Store { return nil }\n"), missing)
	if err != nil || edited != nil || !maps.Equal(missing, constructors()) {
		t.Errorf("error %v, edited %q, missing %v", err, edited, missing)
	}
}

func TestUnknownConstructorIsAnError(t *testing.T) {
	for source, want := range map[string]string{
		"func NewInformerWithOptions(options InformerOptions, more ...Option) (Store, Controller) { return nil, nil }": "edit x.go: function NewInformerWithOptions has the type " +
			"func(InformerOptions, ...Option) (Store, Controller), want func(InformerOptions) (Store, Controller)",
		"func NewInformerWithOptions(_ InformerOptions) (Store, Controller) { return nil, nil }": "edit x.go: parameter of function NewInformerWithOptions without a name",
	} {
		_, err := editConstructors("x.go", []byte("package cache\n\n"+source+"\n"), constructors())
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestMissingConstructorIsAnError(t *testing.T) {
	v := &overlay{folder: t.TempDir(), replace: map[string]string{}}
	v.instrument("/client-go/tools/cache", "/copy")
	if v.err == nil || !strings.Contains(v.err.Error(), "edit /client-go/tools/cache: function NewIndexerInformer not found") {
		t.Errorf("error %v", v.err)
	}
}
