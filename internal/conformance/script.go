package conformance

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"strings"
)

//go:embed scripts/*.txt
var scripts embed.FS

// step is one line of a script.
type step struct {
	text   string // as the transcript shows it
	verb   string // an HTTP method, WATCH, EVENTS, WAIT or COMPACT
	name   string // of a watch
	path   string // or, for EVENTS, the name of the object to stop at
	body   string
	save   string   // the name under which the answer's resourceVersion is remembered
	show   []string // fields
	accept string
	typ    string // the body's content type
	quiet  bool
}

var stepForm = regexp.MustCompile(`^((?:(?:save|show|accept|type)=\S+ |quiet )*)([A-Z]+)(?: (.*))?$`)

// contentType spells out the short names of patches.
func contentType(name string) string {
	switch name {
	case "json", "merge":
		return "application/" + name + "-patch+json"
	case "strategic":
		return "application/strategic-merge-patch+json"
	case "apply":
		return "application/apply-patch+yaml"
	}
	return name
}

// readScripts returns the steps of all scripts, by name.
func readScripts() (map[string][]step, error) {
	entries, err := scripts.ReadDir("scripts")
	if err != nil {
		return nil, err
	}
	all := map[string][]step{}
	for _, entry := range entries {
		data, err := scripts.ReadFile(path.Join("scripts", entry.Name()))
		if err != nil {
			return nil, err
		}
		steps, err := parse(string(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		all[strings.TrimSuffix(entry.Name(), ".txt")] = steps
	}
	return all, nil
}

func parse(script string) ([]step, error) {
	var steps []step
	for i, line := range strings.Split(script, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s, err := parseStep(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func parseStep(line string) (step, error) {
	parts := stepForm.FindStringSubmatch(line)
	if parts == nil {
		return step{}, fmt.Errorf("cannot read %q", line)
	}
	s := step{text: line, verb: parts[2]}
	for option := range strings.FieldsSeq(parts[1]) {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "save":
			s.save = value
		case "show":
			s.show = strings.Split(value, ",")
		case "accept":
			s.accept = value
		case "type":
			s.typ = contentType(value)
		case "quiet":
			s.quiet = true
		}
	}
	rest := parts[3]
	if s.verb == "WATCH" || s.verb == "EVENTS" {
		s.name, rest, _ = strings.Cut(rest, " ")
	}
	s.path, s.body, _ = strings.Cut(rest, " ")
	return s, nil
}
