package harness

import (
	"fmt"
	"os"
	"strings"
)

// Document puts text into a Markdown file between two marks that name it, in the
// place of what is there:
//
//	<!-- bench: NAME -->
//	...
//	<!-- bench: end of NAME -->
//
// The file is left as it is if it does not have both.
func Document(path, name, text string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- bench: "+name+" -->\n", "<!-- bench: end of "+name+" -->\n"
	before, rest, ok := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no place for the table: no lines %q and, after it, %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(before+begin+"\n"+text+end+after), 0o600) // which an existing file's mode does not become
}
