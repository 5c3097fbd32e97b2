// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a git repository with the release script and a CHANGELOG.
type repository struct {
	t       *testing.T
	dir     string
	apidiff string // the path of a command in place of apidiff
}

func newRepository(t *testing.T, changelog string) *repository {
	t.Helper()
	for _, command := range []string{"bash", "git"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Skip(err)
		}
	}
	r := &repository{t: t, dir: t.TempDir(), apidiff: filepath.Join(t.TempDir(), "apidiff")}
	r.write(filepath.Join(r.dir, "release"), readText(t, ".ci/release"))
	r.write(filepath.Join(r.dir, "CHANGELOG.md"), changelog)
	r.write(filepath.Join(r.dir, ".gitignore"), ".cache\n")
	r.write(filepath.Join(r.dir, "go.mod"), "module example.com/m\n\ngo 1.26\n")
	r.write(filepath.Join(r.dir, "m.go"), "package m\n")
	r.git("init", "--quiet")
	r.git("add", ".")
	r.git("commit", "--quiet", "--message=start")
	r.compare("", "")
	return r
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil { //nolint:gosec // it is executed
		r.t.Fatal(err)
	}
}

func (r *repository) git(arguments ...string) {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "tag.gpgsign=false", "-c", "commit.gpgsign=false"}, arguments...)...)
	command.Dir = r.dir
	if output, err := command.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", arguments, err, output)
	}
}

// compare sets the changes of the API that apidiff finds in a package of both versions.
func (r *repository) compare(all, incompatible string) {
	r.t.Helper()
	r.write(r.apidiff, `#!/bin/sh
case "$1" in
-w) touch "$2" ;;
-incompatible) printf '%s' '`+incompatible+`' ;;
*) printf '%s' '`+all+`' ;;
esac
`)
}

// failed is a text of release for a script that ends by the error of a command.
const failed = "\x00"

// release runs the script, which must fail with a text if want is not empty, and returns its
// output.
func (r *repository) release(version, want string) string {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "bash", "./release", r.apidiff, version)
	command.Dir = r.dir
	output, err := command.CombinedOutput()
	said := strings.Contains(string(output), want)
	if want == failed {
		said = !strings.Contains(string(output), "release: ")
	}
	if (err != nil) != (want != "") || !said {
		r.t.Errorf("release %q: %v, want %q\n%s", version, err, want, output)
	}
	return string(output)
}

func (r *repository) notes(version string) string {
	r.t.Helper()
	return readText(r.t, filepath.Join(r.dir, ".cache/release", version+".md"))
}

const changelog = "# Changelog\n\n## Unreleased\n\n- A line.\n\n## v0.1.0\n\n- Older.\n"

func TestFirstReleaseNeedsNoComparison(t *testing.T) {
	r := newRepository(t, changelog)
	r.release("", "")
	if got := r.notes("v0.1.0"); !strings.Contains(got, "- A line.") || strings.Contains(got, "Older") {
		t.Errorf("notes:\n%s", got)
	}
	r.release("0.1", "is not a version")
}

func TestReleaseVersionFollowsTheAPI(t *testing.T) {
	r := newRepository(t, changelog)
	r.git("tag", "--annotate", "--message=release", "v0.1.0")
	r.release("v0.1.0", "is not later")
	r.release("v0.0.9", "is not later")
	r.release("v0.1.1", "")
	r.compare("F: added", "")
	r.release("v0.1.1", "must be a new minor version")
	r.release("", "")
	if got := r.notes("v0.2.0"); !strings.Contains(got, "since v0.1.0") || !strings.Contains(got, "F: added") {
		t.Errorf("notes:\n%s", got)
	}
	r.compare("F: removed", "F: removed")
	r.release("v0.2.0", "no section Incompatible")
}

func TestRemovedPackageIsIncompatible(t *testing.T) {
	r := newRepository(t, changelog)
	r.git("tag", "--annotate", "--message=release", "v0.1.0")
	r.git("mv", "m.go", "renamed.go")
	if err := os.Mkdir(filepath.Join(r.dir, "p"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.git("mv", "renamed.go", "p/p.go")
	r.git("commit", "--quiet", "--message=move")
	r.release("v0.2.0", "example.com/m:\n- package removed")
	r.release("v0.1.1", "example.com/m/p:\n- package added")
}

func TestIncompatibleReleaseIsAMajorOneFromV1On(t *testing.T) {
	r := newRepository(t, "## Unreleased\n\n### Incompatible\n\n- F is gone: call G.\n\n## v1.0.0\n\n## v0.9.0\n")
	r.git("tag", "--annotate", "--message=release", "v0.9.0")
	r.compare("F: removed", "F: removed")
	r.release("v0.10.0", "")
	r.release("v1.0.0", "")
	r.git("tag", "--annotate", "--message=release", "v1.0.0")
	r.release("v1.1.0", "must be a new major version")
	r.release("v2.0.0", "does not end in /v2")
	r.write(filepath.Join(r.dir, "go.mod"), "module example.com/m/v2\n\ngo 1.26\n")
	r.git("commit", "--quiet", "--all", "--message=v2")
	r.release("v2.0.0", "")
}

// addNested adds a nested module that is released with the library, and requires a version of it.
func (r *repository) addNested(module, version string) {
	r.t.Helper()
	dir := filepath.Join(r.dir, filepath.FromSlash(module))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	r.write(filepath.Join(dir, "go.mod"), "module example.com/m/"+module+"\n\ngo 1.26\n\nrequire (\n\texample.com/m "+version+"\n)\n")
	r.write(filepath.Join(dir, "go.work"), "go 1.26\n\nuse .\n\nreplace example.com/m => "+strings.Repeat("../", 1+strings.Count(module, "/"))+"\n")
	r.write(filepath.Join(dir, "p.go"), "package "+path.Base(module)+"\n")
	r.git("add", ".")
	r.git("commit", "--quiet", "--message=nested")
}

func TestNestedModulesAreReleasedWithTheLibrary(t *testing.T) {
	for _, module := range []string{"metrics", "simulate/simulatecr", "cmd/kinformer"} {
		t.Run(module, func(t *testing.T) {
			r := newRepository(t, changelog)
			r.git("tag", "--annotate", "--message=release", "v0.1.0")
			r.addNested(module, "v0.1.0")
			r.release("v0.2.0", module+"/go.mod requires version v0.1.0, not v0.2.0")
			r.addNested(module, "v0.1.1")
			r.release("v0.1.1", "example.com/m/"+module+":\n- package added")
			r.addNested(module, "v0.2.0")
			if text := r.release("v0.2.0", ""); !strings.Contains(text, "git push --atomic origin v0.2.0 "+module+"/v0.2.0\n") {
				t.Errorf("no tag of %s:\n%s", module, text)
			}
			r.git("tag", "--annotate", "--message=release", "v0.2.0")
			r.write(filepath.Join(r.dir, "CHANGELOG.md"), changelog+"\n## v0.2.0\n")
			r.addNested(module, "v0.2.1")
			r.release("v0.2.1", "")
			r.compare("Start: changed", "")
			r.release("v0.2.1", "example.com/m/"+module+":\nStart: changed")
		})
	}
}

func TestReleaseNeedsACleanTreeAndNotes(t *testing.T) {
	r := newRepository(t, "## Unreleased\n\n## v0.0.1\n")
	r.release("", "says nothing under Unreleased")
	r.write(filepath.Join(r.dir, "new"), "")
	r.release("", "uncommitted changes")
}

func TestReleaseNeedsASectionOfTheLastOne(t *testing.T) {
	r := newRepository(t, "## Unreleased\n\n- A line.\n")
	r.git("tag", "--annotate", "--message=release", "v0.1.0")
	r.release("", "no section v0.1.0")
}

func TestReleaseFailsIfTheComparisonDoes(t *testing.T) {
	r := newRepository(t, changelog)
	r.git("tag", "--annotate", "--message=release", "v0.1.0")
	for _, script := range []string{"case $1 in -w) exit 1 ;; esac", "case $1 in -w) touch $2 ;; *) exit 1 ;; esac"} {
		r.write(r.apidiff, "#!/bin/sh\n"+script+"\n")
		r.release("v0.1.1", failed)
	}
	r.compare("", "")
	r.write(filepath.Join(r.dir, "m.go"), "not Go")
	r.git("commit", "--quiet", "--all", "--message=broken")
	r.release("v0.1.1", failed)
}

func TestReleaseNeedsAPushedCommit(t *testing.T) {
	r := newRepository(t, changelog)
	r.git("remote", "add", "origin", "https://example.com/m")
	r.release("", "push it first")
	r.git("update-ref", "refs/remotes/origin/main", "HEAD")
	r.release("", "")
}

func TestReleaseNeedsATidyModule(t *testing.T) {
	r := newRepository(t, changelog)
	r.write(filepath.Join(r.dir, "go.mod"), "module example.com/m\n\ngo 1.26\n\nrequire golang.org/x/sys v0.40.0\n")
	r.git("commit", "--quiet", "--all", "--message=untidy")
	r.release("", "go mod tidy changes")
}

func TestReleaseNeedsTestedPrograms(t *testing.T) {
	r := newRepository(t, changelog)
	if err := os.Mkdir(filepath.Join(r.dir, "e2e"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.write(filepath.Join(r.dir, "e2e/programs.txt"), "commit "+r.output("git", "rev-parse", "HEAD")+"date   2026-01-01\n")
	r.git("add", ".")
	r.git("commit", "--quiet", "--message=tested")
	r.release("", "")
	r.write(filepath.Join(r.dir, "m.go"), "package m\n\nvar X int\n")
	r.git("commit", "--quiet", "--all", "--message=change")
	r.release("", "code has changed")
}

func TestReleaseRefusesAnExistingTag(t *testing.T) {
	r := newRepository(t, changelog)
	r.addNested("cmd/kinformer", "v0.1.0")
	r.git("tag", "--annotate", "--message=release", "cmd/kinformer/v0.1.0")
	r.release("", "there is a tag cmd/kinformer/v0.1.0")
}

// TestPrintedCommandsMakeTheTags runs the commands that the script prints, and reads the tags where
// they are pushed to.
func TestPrintedCommandsMakeTheTags(t *testing.T) {
	r := newRepository(t, changelog)
	r.addNested("cmd/kinformer", "v0.1.0")
	r.addNested("simulate/simulatecr", "v0.1.0")
	origin := t.TempDir()
	r.git("init", "--quiet", "--bare", origin)
	r.git("remote", "add", "origin", origin)
	r.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
	r.git("fetch", "--quiet", "origin")
	_, commands, _ := strings.Cut(r.release("", ""), "These commands release it:\n")
	r.output("bash", "-e", "-c", "git config user.name a; git config user.email a@example.com; git config tag.gpgsign false\n"+commands)
	want := "cmd/kinformer/v0.1.0\nsimulate/simulatecr/v0.1.0\nv0.1.0\n"
	if got := r.output("git", "-C", origin, "tag", "--list"); got != want {
		t.Errorf("tags\n%s\nwant\n%s", got, want)
	}
	if got := r.output("git", "-C", origin, "tag", "--list", "--format=%(contents)", "v0.1.0"); !strings.Contains(got, r.notes("v0.1.0")) {
		t.Errorf("the tag has\n%s", got)
	}
}

// output runs a command in the repository and returns its standard output.
func (r *repository) output(name string, arguments ...string) string {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), name, arguments...)
	command.Dir = r.dir
	output, err := command.Output()
	if err != nil {
		r.t.Fatalf("%s %v: %v", name, arguments, err)
	}
	return string(output)
}
