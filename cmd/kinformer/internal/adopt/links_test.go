// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// informerText is a file that the command edits.
const informerText = `package linked

import "k8s.io/client-go/tools/cache"

var informer = cache.NewSharedIndexInformer(nil, nil, 0, nil)
`

// add adds files and symbolic links to the program. Their paths are relative to its folder, and the
// module is all that is not in "..". DIR in the target of a link is that folder. A link replaces a
// file.
func (h *harness) add(files, links map[string]string) {
	h.t.Helper()
	makeFolder := func(name string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(h.dir, name)), 0o755); err != nil { //nolint:gosec // as the other folders
			h.t.Fatal(err)
		}
	}
	for name, text := range files {
		makeFolder(name)
		h.write(name, text)
	}
	for name, target := range links {
		makeFolder(name)
		_ = os.Remove(filepath.Join(h.dir, name))
		if err := os.Symlink(h.expand(target), filepath.Join(h.dir, name)); err != nil {
			h.t.Fatal(err)
		}
	}
}

// expand replaces DIR by the folder of the program.
func (h *harness) expand(text string) string {
	text = strings.ReplaceAll(text, "DIR/..", filepath.Dir(h.dir))
	return strings.ReplaceAll(text, "DIR", h.dir)
}

// state returns the paths and contents of all files of the test, without links.
func (h *harness) state() map[string]string {
	h.t.Helper()
	state := map[string]string{}
	err := filepath.WalkDir(filepath.Dir(h.dir), func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			state[path] = h.readFile(path)
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return state
}

// expectWritten checks which files are not as before.
func (h *harness) expectWritten(before map[string]string, want ...string) {
	h.t.Helper()
	changed := map[string]bool{}
	for path, text := range h.state() {
		if before[path] != text {
			changed[path] = true
		}
	}
	for _, name := range want {
		if path := filepath.Join(h.dir, name); !changed[path] {
			h.t.Errorf("%s was not written", name)
		} else {
			delete(changed, path)
		}
	}
	for path := range changed {
		h.t.Errorf("%s was written", path)
	}
}

// TestLinksOutOfTheModuleAreErrors checks that neither the targets of such links nor other files
// are written.
func TestLinksOutOfTheModuleAreErrors(t *testing.T) {
	const outside = " is a symbolic link to DIR/../outside"
	for name, test := range map[string]struct {
		files, links map[string]string
		want         string // the error
	}{
		"file": {
			files: map[string]string{"../outside/new.go": informerText},
			links: map[string]string{"linked/new.go": "../../outside/new.go"},
			want:  "write linked/new.go: linked/new.go" + outside + "/new.go, which is not in the module",
		},
		"folder": {
			files: map[string]string{"../outside/new.go": informerText},
			links: map[string]string{"linked": "../outside"},
			want:  "write linked/new.go: linked" + outside + ", which is not in the module",
		},
		"one of two files": {
			files: map[string]string{"../outside/new.go": informerText, "linked/other.go": strings.Replace(informerText, "informer", "other", 1)},
			links: map[string]string{"linked/new.go": "../../outside/new.go"},
			want:  "write linked/new.go: linked/new.go" + outside + "/new.go, which is not in the module",
		},
		"go.mod": {
			files: map[string]string{"linked/new.go": informerText},
			links: map[string]string{"go.mod": "../outside/go.mod"},
			want:  "write go.mod: go.mod" + outside + "/go.mod, which is not in the module",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			if test.links["go.mod"] != "" {
				test.files["../outside/go.mod"] = h.read("go.mod")
			}
			h.add(test.files, test.links)
			before := h.state()
			if err := h.run("--yes", "--kinformer", h.repository, "./linked/..."); err == nil || err.Error() != h.expand(test.want) {
				t.Errorf("error %v, want %s", err, h.expand(test.want))
			}
			h.expectWritten(before)
		})
	}
}

// TestLinkedFilesOfTheModuleAreEdited checks that the target of a link is written, once, and that
// the link remains one.
func TestLinkedFilesOfTheModuleAreEdited(t *testing.T) {
	for name, test := range map[string]struct {
		files, links map[string]string
		patterns     string
		want         []string // files that are written, besides go.mod
	}{
		"three packages": {
			files: map[string]string{"shared/new.go": informerText},
			links: map[string]string{"linked/new.go": "../shared/new.go", "again/new.go": "../linked/new.go"}, patterns: "./linked ./shared ./again",
			want: []string{"shared/new.go"},
		},
		"file of no package": {
			files: map[string]string{"_templates/new.go.txt": informerText},
			links: map[string]string{"linked/new.go": "../_templates/new.go.txt"}, patterns: "./linked",
			want: []string{"_templates/new.go.txt"},
		},
		"folder": {
			files: map[string]string{"shared/new.go": informerText},
			links: map[string]string{"linked": "shared"}, patterns: "./linked ./shared",
			want: []string{"shared/new.go"},
		},
		"link to the root": {
			files: map[string]string{"shared/new.go": informerText},
			links: map[string]string{"shared/root": ".."}, patterns: "./shared/...",
			want: []string{"shared/new.go"},
		},
		"links out of the module that are not edited": {
			files: map[string]string{"shared/new.go": informerText, "../outside/plain.go": "package linked\n", "../outside/new.go": informerText},
			links: map[string]string{"shared/plain.go": "../../outside/plain.go", "shared/folder": "../../outside"}, patterns: "./shared/...",
			want: []string{"shared/new.go"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.add(test.files, test.links)
			before := h.state()
			h.mustRun(append([]string{"--yes", "--kinformer", h.repository}, strings.Fields(test.patterns)...)...)
			h.expectWritten(before, append(test.want, "go.mod")...)
			if !strings.Contains(h.err.String(), fmt.Sprint(1+len(test.want), " files written.")) {
				t.Errorf("got %s", h.err.String())
			}
			for name := range test.links {
				if info, err := os.Lstat(filepath.Join(h.dir, name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
					t.Errorf("%s is no link any more: %v", name, err)
				}
			}
			for _, name := range test.want {
				if !strings.Contains(h.out.String(), "\n+++ b/"+name+"\n") {
					t.Errorf("the diff does not name %s:\n%s", name, h.out.String())
				}
			}
		})
	}
}

// TestModuleReachedByALinkIsEdited runs the command in symbolic links to the folder of go.mod.
func TestModuleReachedByALinkIsEdited(t *testing.T) {
	for link, target := range map[string]string{"../relative": "program", "../absolute": "DIR", "../chain": "relative/../relative"} {
		t.Run(filepath.Base(link), func(t *testing.T) {
			h := newHarness(t)
			h.add(map[string]string{"linked/new.go": informerText}, map[string]string{link: target, "../relative": "program"})
			before := h.state()
			t.Chdir(filepath.Join(h.dir, link))
			h.mustRun("--yes", "--kinformer", h.repository, "./linked")
			h.expectWritten(before, "linked/new.go", "go.mod")
		})
	}
}

// TestLinkThatNeedsOtherEditsIsAnError links one file into two packages, of which one has a name
// that the edits would use, or makes a reflector.
func TestLinkThatNeedsOtherEditsIsAnError(t *testing.T) {
	const field = `package linked

import "k8s.io/client-go/tools/cache"

type Holder struct{ R *cache.Reflector }
`
	const reflector = `package linked

import "k8s.io/client-go/tools/cache"

var R = cache.NewReflector(nil, nil, nil, 0)
`
	for name, test := range map[string]struct{ shared, beside, besideTarget string }{
		"edited beside the link":   {shared: field, beside: reflector},
		"edited beside the target": {shared: field, besideTarget: reflector},
		"another name":             {shared: field, beside: reflector + "\nvar clientgo int\n", besideTarget: reflector},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			files := map[string]string{"shared/new.go": test.shared}
			if test.beside != "" {
				files["linked/beside.go"] = test.beside
			}
			if test.besideTarget != "" {
				files["shared/beside.go"] = test.besideTarget
			}
			h.add(files, map[string]string{"linked/new.go": "../shared/new.go"})
			before := h.state()
			h.expectError("edit shared/new.go: it is the same file as linked/new.go, which needs other edits", "--yes", "--kinformer", h.repository, "./linked", "./shared")
			h.expectWritten(before)
		})
	}
}

// TestFileReplacedByALinkIsNotWritten replaces a file by a link out of the module, to the same
// content, between the question and the answer.
func TestFileReplacedByALinkIsNotWritten(t *testing.T) {
	for _, name := range []string{"linked/new.go", "go.mod"} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.add(map[string]string{"linked/new.go": informerText}, nil)
			h.add(map[string]string{"../outside/new.go": h.read(name)}, nil)
			before := h.state()
			h.in = readerFunc(func(p []byte) (int, error) {
				h.add(nil, map[string]string{name: "DIR/../outside/new.go"})
				return copy(p, "y\n"), nil
			})
			h.expectError(h.expand("write "+name+": "+name+" is a symbolic link to DIR/../outside/new.go, which is not in the module"), "--kinformer", h.repository, "./linked")
			h.expectWritten(before)
		})
	}
}

// TestNamesAreResolved checks which file a name leads to.
func TestNamesAreResolved(t *testing.T) {
	h := &harness{t: t}
	temporary, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h.dir = filepath.Join(temporary, "program")
	h.add(map[string]string{
		"go.mod": "", "sums/go.sum": "", "nested/go.mod": "", "nested/sub/a.go": "", "vendor/v/a.go": "", "pkg/vendor/a.go": "", "pkg/..a/a.go": "",
		"../outside/go.sum": "", "../outside/sub/a.go": "", "../program2/a.go": "",
	}, map[string]string{
		"inside": "sums/go.sum", "absolute": "DIR/sums/go.sum", "back": "../program/sums/go.sum", "hop": "inside", "folder": "sums", "root": ".",
		"outside": "../outside/go.sum", "absolute-outside": "DIR/../outside/go.sum", "hop-outside": "outside", "prefix": "../program2/a.go",
		"out": "../outside", "sums/out": "../../outside/go.sum", "up": "..", "nested-file": "nested/sub/a.go", "nested-folder": "nested/sub",
		"vendored": "vendor/v/a.go", "vendor-folder": "vendor/v", "own-vendor": "pkg/vendor/a.go", "dots": "pkg/..a",
		"dangling": "nothing", "dangling-outside": "../outside/nothing", "in-nothing": "nothing/go.sum", "loop": "loop",
	})
	for name, want := range map[string]string{
		"go.mod": "go.mod", "go.sum": "go.sum", "inside": "sums/go.sum", "absolute": "sums/go.sum", "back": "sums/go.sum", "hop": "sums/go.sum",
		"folder/go.sum": "sums/go.sum", "folder/new": "sums/new", "root/inside": "sums/go.sum", "root/root/go.mod": "go.mod", "root/go.sum": "go.sum",
		"own-vendor": "pkg/vendor/a.go", "dots/a.go": "pkg/..a/a.go",
	} {
		if got, err := (&program{root: h.dir}).resolve(name); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"outside":            "outside is a symbolic link to DIR/../outside/go.sum, which is not in the module",
		"absolute-outside":   "absolute-outside is a symbolic link to DIR/../outside/go.sum, which is not in the module",
		"hop-outside":        "hop-outside is a symbolic link to DIR/../outside/go.sum, which is not in the module",
		"prefix":             "prefix is a symbolic link to DIR2/a.go, which is not in the module",
		"out/go.sum":         "out is a symbolic link to DIR/../outside, which is not in the module",
		"out/sub/a.go":       "out is a symbolic link to DIR/../outside, which is not in the module",
		"out/new":            "out is a symbolic link to DIR/../outside, which is not in the module",
		"folder/out":         "folder/out is a symbolic link to DIR/../outside/go.sum, which is not in the module",
		"up/outside/go.sum":  "up is a symbolic link to DIR/.., which is not in the module",
		"up/program/go.mod":  "up is a symbolic link to DIR/.., which is not in the module",
		"root/out/new":       "root/out is a symbolic link to DIR/../outside, which is not in the module",
		"nested-file":        "nested-file is a symbolic link to DIR/nested/sub/a.go, which is not in the module",
		"nested-folder/a.go": "nested-folder is a symbolic link to DIR/nested/sub, which is not in the module",
		"vendored":           "vendored is a symbolic link to DIR/vendor/v/a.go, which is not in the module",
		"vendor-folder/a.go": "vendor-folder is a symbolic link to DIR/vendor/v, which is not in the module",
		"dangling":           "dangling is a symbolic link to a file that does not exist",
		"dangling-outside":   "dangling-outside is a symbolic link to a file that does not exist",
		"in-nothing":         "in-nothing is a symbolic link to a file that does not exist",
		"loop":               "EvalSymlinks: too many links",
	} {
		if got, err := (&program{root: h.dir}).resolve(name); err == nil || err.Error() != "write "+name+": "+h.expand(want) {
			t.Errorf("%s: %s, error %v, want %s", name, got, err, h.expand(want))
		}
	}
}
