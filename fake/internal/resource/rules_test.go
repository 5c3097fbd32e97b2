package resource

import (
	"os"
	"regexp"
	"testing"
)

// A kind or a resource that is misspelt in one of the tables would follow no rule without anybody noticing.
func TestTablesNameWhatThereIs(t *testing.T) {
	kinds, resources := map[string]bool{}, map[string]bool{}
	for _, r := range append(BuiltIn(), Definitions()) {
		kinds[r.Kind.GroupKind().String()] = true
		resources[r.GroupResource().String()] = true
	}
	for file, table := range map[string]struct {
		form  string
		names map[string]bool
	}{
		"rules.go": {`"([A-Z]\w+(?:\.[a-z0-9.]+)?)"`, kinds},
		"names.go": {`"([a-z0-9.]+)": +"`, resources},
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, match := range regexp.MustCompile(table.form).FindAllSubmatch(source, -1) {
			name := string(match[1])
			if isPhase := name == "Pending" || name == "Active"; isPhase || len(name) < 4 {
				continue
			}
			found++
			if !table.names[name] {
				t.Errorf("%s names %s, which there is not", file, name)
			}
		}
		if found < 10 {
			t.Errorf("%s: only %d names were found in it", file, found)
		}
	}
}
