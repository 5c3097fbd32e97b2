// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/mutation"
	"github.com/kinformer/kinformer/internal/reflector"
)

// TestContractIsHeld checks that each promise of docs/contract.md is numbered, names existing
// tests, and says what client-go does.
func TestContractIsHeld(t *testing.T) {
	contract, err := os.ReadFile("../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsUnder(t, "..")
	promises := regexp.MustCompile(`(?m)^\*\*\d+\. `).Split(string(contract), -1)[1:]
	if len(promises) < 20 {
		t.Fatalf("found %d promises, want at least 20", len(promises))
	}
	name := regexp.MustCompile("`((?:Test|Benchmark|Example)\\w+)`")
	for i, promise := range promises {
		if !strings.Contains(string(contract), fmt.Sprintf("\n**%d. ", i+1)) {
			t.Errorf("promise %d is missing", i+1)
		}
		held := name.FindAllStringSubmatch(promise, -1)
		if len(held) == 0 || !strings.Contains(promise, "\n- held by ") || !strings.Contains(promise, "\n- client-go: ") {
			t.Errorf("promise %d does not name its tests, or what client-go does", i+1)
		}
		for _, match := range held {
			if !tests[match[1]] {
				t.Errorf("promise %d is held by %s, which does not exist", i+1, match[1])
			}
		}
	}
}

// TestFaultsAreTested checks that each row of the catalogue in docs/faults.md names the promises that
// cover it or existing tests, and says what client-go does. A test that holds a promise is named by
// the contract alone.
func TestFaultsAreTested(t *testing.T) {
	faults, err := os.ReadFile("../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	contract, err := os.ReadFile("../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, promise := testsUnder(t, ".."), regexp.MustCompile(`^\d+$`)
	rows := 0
	for _, table := range strings.Split(string(faults), "\n| what happens |")[1:] {
		table, _, _ = strings.Cut(table, "\n\n")
		for _, row := range strings.Split(strings.TrimSpace(table), "\n")[2:] { // the first two are the head
			rows++
			cells := strings.Split(strings.Trim(row, "| "), " | ")
			if len(cells) != 4 {
				t.Errorf("%d cells, want 4: %s", len(cells), row)
				continue
			}
			for _, held := range strings.Split(cells[2], ", ") {
				switch name := strings.Trim(held, "`"); {
				case promise.MatchString(held):
					if !strings.Contains(string(contract), "\n**"+held+". ") {
						t.Errorf("the contract has no promise %s: %s", held, row)
					}
				case held == "adapter":
				case !tests[name]:
					t.Errorf("%s does not exist: %s", held, row)
				case strings.Contains(string(contract), held):
					t.Errorf("the contract names %s too: %s", held, row)
				}
			}
		}
	}
	if rows < 80 {
		t.Errorf("%d rows, want at least 80", rows)
	}
}

// TestTestsOfFoundBugsExist checks that the tests that docs/testing.md names exist.
func TestTestsOfFoundBugsExist(t *testing.T) {
	document, err := os.ReadFile("../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsUnder(t, "..")
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(document), -1)
	for _, match := range named {
		if !tests[match[1]] {
			t.Errorf("docs/testing.md names %s, which does not exist", match[1])
		}
	}
	if len(named) < 7 {
		t.Errorf("%d tests, want at least 7", len(named))
	}
}

// testsUnder returns the names of the tests that the contract may name.
func testsUnder(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	function := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Example)\w+)\(`)
	for _, folder := range []string{"cache", "clientgo", "debug", "metrics", "shard", "e2e", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			for _, match := range function.FindAllStringSubmatch(string(code), -1) {
				names[match[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// TestSharedOptionsHaveTheSameType compares the fields that InformerOptions and ReflectorOptions
// have in common. InformerOptions has each field of ReflectorOptions.
func TestSharedOptionsHaveTheSameType(t *testing.T) {
	informerOptions := reflect.TypeFor[cache.InformerOptions[*corev1.Pod]]()
	for field := range reflect.TypeFor[cache.ReflectorOptions]().Fields() {
		same, ok := informerOptions.FieldByName(field.Name)
		if !ok || same.Type != field.Type {
			t.Errorf("ReflectorOptions.%s is %s, InformerOptions has %v", field.Name, field.Type, same.Type)
		}
	}
}

// TestSentinelErrorsMatchEngine compares the errors and phases that package cache declares
// with those that the engine returns.
func TestSentinelErrorsMatchEngine(t *testing.T) {
	for public, internal := range map[error]error{
		cache.ErrAlreadyRunning: informer.ErrAlreadyRunning, cache.ErrStopped: informer.ErrStopped, cache.ErrHandlerBlocked: informer.ErrHandlerBlocked,
		cache.ErrFunctionBlocked: informer.ErrFunctionBlocked,
		cache.ErrStale:           reflector.ErrStale, cache.ErrVersionRegressed: reflector.ErrVersionRegressed, cache.ErrStalled: reflector.ErrStalled,
		cache.ErrShortWatches: reflector.ErrShortWatches, cache.ErrNoVersion: reflector.ErrNoVersion, cache.ErrQuarantined: reflector.ErrQuarantined,
		cache.ErrMutated: mutation.ErrMutated,
	} {
		if !errors.Is(internal, public) {
			t.Errorf("%q is not %q", internal, public)
		}
	}
	for public, internal := range map[cache.Phase]reflector.Phase{
		cache.PhaseIdle: reflector.Idle, cache.PhaseListing: reflector.Listing, cache.PhaseWatching: reflector.Watching,
		cache.PhaseResuming: reflector.Resuming, cache.PhaseRetrying: reflector.Retrying, cache.PhaseStopped: reflector.Stopped,
	} {
		if string(public) != string(internal) {
			t.Errorf("phase %q is not %q", internal, public)
		}
	}
}
