package harness

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDocument(t *testing.T) {
	const page = "# Page\n<!-- bench: a -->\nold\n<!-- bench: end of a -->\ntext\n<!-- bench: b -->\n<!-- bench: end of b -->\n"
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "a"} { // the second time over what is there
		if err := Document(path, name, "table of "+name+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	const want = "# Page\n<!-- bench: a -->\n\ntable of a\n<!-- bench: end of a -->\ntext\n<!-- bench: b -->\n\ntable of b\n<!-- bench: end of b -->\n"
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("got\n%s\n%v, want\n%s", got, err, want)
	}
	if err := Document(path, "c", "table"); err == nil {
		t.Error("a table without a place was written")
	}
	if got, _ := os.ReadFile(path); string(got) != want {
		t.Errorf("a table without a place changed the page to\n%s", got)
	}
}
