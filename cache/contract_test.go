// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
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

// testsUnder returns the names of the tests that the contract may name.
func testsUnder(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	function := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Example)\w+)\(`)
	for _, folder := range []string{"cache", "clientgo", "debug", "follow", "metrics", "shard", "e2e", "internal", "test"} {
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

// TestErrorsAreQuotedInTheirDocumentation looks for the text of each error in errors.go.
func TestErrorsAreQuotedInTheirDocumentation(t *testing.T) {
	code, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`\n\t?// `).ReplaceAllString(string(code), " ")
	for _, err := range []error{
		cache.ErrAlreadyRunning, cache.ErrStopped, cache.ErrHandlerBlocked, cache.ErrFunctionBlocked,
		cache.ErrVersionRegressed, cache.ErrHistoryChanged, cache.ErrStalled, cache.ErrMutated,
		cache.ErrNotStored, cache.ErrNoScope, cache.ErrNotSelected, cache.ErrSkip,
	} {
		if !strings.Contains(text, `("`+err.Error()+`")`) {
			t.Errorf("the documentation of the error %q does not quote it", err)
		}
	}
}

// TestPhasesMatchEngine compares the phases that package cache declares with those of the engine.
func TestPhasesMatchEngine(t *testing.T) {
	for public, internal := range map[cache.Phase]reflector.Phase{
		cache.PhaseIdle: reflector.Idle, cache.PhaseListing: reflector.Listing, cache.PhaseWatching: reflector.Watching,
		cache.PhaseResuming: reflector.Resuming, cache.PhaseRetrying: reflector.Retrying, cache.PhaseStopped: reflector.Stopped,
	} {
		if string(public) != string(internal) {
			t.Errorf("phase %q is not %q", internal, public)
		}
	}
}
