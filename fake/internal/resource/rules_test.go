// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"os"
	"regexp"
	"testing"
)

// A misspelled kind or resource in one of the tables would silently have no effect.
func TestTablesNameExistingResources(t *testing.T) {
	kinds, resources := map[string]bool{}, map[string]bool{}
	for _, r := range append(BuiltIn(), Definitions()) {
		kinds[r.Kind.GroupKind().String()] = true
		resources[r.GroupResource().String()] = true
	}
	for file, table := range map[string]struct {
		regex string
		names map[string]bool
	}{
		"rules.go":        {`"([A-Z]\w+(?:\.[a-z0-9.]+)?)"`, kinds},
		"object_names.go": {`"([A-Z]\w+(?:\.[a-z0-9.]+)?)"`, kinds},
		"names.go":        {`"([a-z0-9.]+)": +"`, resources},
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, match := range regexp.MustCompile(table.regex).FindAllSubmatch(source, -1) {
			name := string(match[1])
			if len(name) < 4 {
				continue
			}
			found++
			if !table.names[name] {
				t.Errorf("%s: %s does not exist", file, name)
			}
		}
		if found < 10 {
			t.Errorf("%s: found only %d names", file, found)
		}
	}
}
