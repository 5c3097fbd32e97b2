// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"embed"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
)

//go:embed scripts/*.txt
var scripts embed.FS

// step is one step of a script.
type step struct {
	text        string // the line, which is also in the transcript
	verb        string // an HTTP method, WATCH, EVENTS, WAIT, COMPACT, RESTART or MUTATE
	name        string // name of the watch, for WATCH and EVENTS, and the HTTP method, for MUTATE
	path        string // for EVENTS, the name of the last object
	body        string
	save        string   // name for the resourceVersion of the response
	show        []string // paths of the fields to record
	accept      string   // Accept header
	contentType string   // Content-Type header
	code        int      // the status code that WAIT waits for
	quiet       bool
	causes      bool
}

var stepPattern = regexp.MustCompile(`^((?:(?:save|show|accept|type|code)=\S+ |quiet |causes )*)([A-Z]+)(?: (.*))?$`)

// patchContentType returns the content type for the short name of a patch. It returns other names
// unchanged.
func patchContentType(name string) string {
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
		if s.verb != "MUTATE" {
			steps = append(steps, s)
			continue
		}
		mutated, err := s.mutations()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		steps = append(steps, mutated...)
	}
	return steps, nil
}

func parseStep(line string) (step, error) {
	parts := stepPattern.FindStringSubmatch(line)
	if parts == nil {
		return step{}, fmt.Errorf("parse step: invalid syntax %q", line)
	}
	s := step{text: line, verb: parts[2], code: http.StatusOK}
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
			s.contentType = patchContentType(value)
		case "quiet":
			s.quiet = true
		case "causes":
			s.causes = true
		case "code":
			code, err := strconv.Atoi(value)
			if err != nil {
				return step{}, fmt.Errorf("parse step: invalid code in %q: %w", line, err)
			}
			s.code = code
		}
	}
	rest := parts[3]
	if s.verb == "WATCH" || s.verb == "EVENTS" || s.verb == "MUTATE" {
		s.name, rest, _ = strings.Cut(rest, " ")
	}
	s.path, s.body, _ = strings.Cut(rest, " ")
	return s, nil
}
