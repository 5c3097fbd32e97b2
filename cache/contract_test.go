package cache_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContractIsHeld checks that each promise of docs/contract.md has its number, names tests that
// exist, and says what client-go does.
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
	for _, folder := range []string{"cache", "clientgo", "e2e/controllerruntime", "internal", "test"} {
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
