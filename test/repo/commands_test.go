// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// inText matches a command in backquotes, which may be wrapped, and inBlock one after a prompt.
	inText  = regexp.MustCompile("`((?:make|go|kinformer) [^`]+)`")
	inBlock = regexp.MustCompile(`(?m)^\s*\$ ((?:make|go|kinformer) .+)$`)

	// argument matches an argument, whose value may be quoted.
	argument = regexp.MustCompile(`(?:[^\s"']|"[^"]*"|'[^']*')+`)
	isFlag   = regexp.MustCompile(`^--?([\w.-]+)`)
)

// goFlags are the flags of the go command that the documents use.
var goFlags = []string{"o", "tags", "run", "v", "timeout", "m", "json", "trimpath"}

// programs are the folders of the programs to which a target of make passes ARGS.
var programs = map[string]string{"run": "examples/nodecache", "bench": "bench"}

// TestCommandsOfDocuments checks that the targets, packages, tests, subcommands and flags of the
// commands in documents exist.
func TestCommandsOfDocuments(t *testing.T) {
	commands := 0
	for _, document := range documents(t) {
		for _, command := range commandsOf(readText(t, document)) {
			commands++
			if wrong := wrongCommand(t, command); wrong != "" {
				t.Errorf("%s: %s: %s", document, command, wrong)
			}
		}
	}
	if commands < 80 {
		t.Errorf("found %d commands only", commands)
	}
}

// commandsOf returns the commands of make, go and kinformer in a document.
func commandsOf(text string) (commands []string) {
	for _, expression := range []*regexp.Regexp{inText, inBlock} {
		for _, match := range expression.FindAllStringSubmatch(text, -1) {
			commands = append(commands, strings.Join(strings.Fields(match[1]), " "))
		}
	}
	return commands
}

// wrongCommand returns what is wrong with a command, or "".
func wrongCommand(t *testing.T, command string) string {
	t.Helper()
	command, _, _ = strings.Cut(command, " | ")
	name, rest, _ := strings.Cut(command, " ")
	switch args := argument.FindAllString(rest, -1); name {
	case "make":
		return wrongTarget(t, args)
	case "kinformer":
		return wrongSubcommand(t, args)
	default:
		return wrongGo(t, args)
	}
}

// wrongTarget checks the target and the variables of make.
func wrongTarget(t *testing.T, args []string) string {
	t.Helper()
	makefile := readText(t, "Makefile")
	if !regexp.MustCompile(`(?m)^` + args[0] + `:`).MatchString(makefile) {
		return "no target " + args[0]
	}
	for _, arg := range args[1:] {
		variable, value, _ := strings.Cut(arg, "=")
		if !regexp.MustCompile(`\$\(` + variable + `\)`).MatchString(makefile) {
			return "no variable " + variable
		}
		if folder := programs[args[0]]; variable == "ARGS" {
			if wrong := wrongFlag(t, folder, argument.FindAllString(strings.Trim(value, `"`), -1), nil); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// wrongSubcommand checks a subcommand of kinformer, and its flags against the text of its help.
func wrongSubcommand(t *testing.T, args []string) string {
	t.Helper()
	help := "help"
	if !strings.HasPrefix(args[0], "-") && args[0] != "COMMAND" {
		help = args[0]
	}
	text, err := os.ReadFile("cmd/kinformer/testdata/" + help + ".txt")
	if err != nil {
		return "no command " + help
	}
	for _, arg := range args {
		if isFlag.MatchString(arg) && !regexp.MustCompile(isFlag.FindString(arg)+`\b`).Match(text) {
			return "no flag " + arg
		}
	}
	return ""
}

// wrongGo checks the folder and the packages of the go command, and the flags of the program that
// it runs, or the tests and their flags. Names in capitals stand for others.
func wrongGo(t *testing.T, args []string) string {
	t.Helper()
	folder := "."
	if args[0] == "-C" {
		folder, args = args[1], args[2:]
	}
	var packages []string
	for i, arg := range args {
		switch path, own := strings.CutPrefix(arg, "github.com/kinformer/kinformer/"); {
		case own:
			path, _, _ = strings.Cut(path, "@")
			packages = append(packages, path)
		case arg == ".", strings.HasPrefix(arg, "./") && arg != "./NAME":
			packages = append(packages, filepath.Join(folder, strings.TrimSuffix(arg, "...")))
		default:
			continue
		}
		last := packages[len(packages)-1]
		if sources, err := filepath.Glob(filepath.Join(last, "*")); err != nil || len(sources) == 0 {
			return "no folder " + last
		}
		switch {
		case args[0] == "run" && last == "cmd/kinformer" && i+1 < len(args):
			return wrongSubcommand(t, args[i+1:])
		case args[0] == "run":
			return wrongFlag(t, last, args[i+1:], nil)
		}
	}
	if _, err := os.Stat(folder); err != nil {
		return "no folder " + folder
	}
	if i := slices.Index(args, "-run"); i >= 0 && len(packages) > 0 && !hasTest(t, packages[0], strings.Trim(args[i+1], "'")) {
		return "no test " + args[i+1]
	}
	return wrongFlag(t, strings.Join(packages, ""), args[1:], goFlags)
}

// hasTest reports whether a folder has a test whose name matches a pattern.
func hasTest(t *testing.T, folder, pattern string) bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	return err == nil && slices.ContainsFunc(paths, func(path string) bool {
		return regexp.MustCompile(`(?m)^func Test\w*` + strings.TrimPrefix(pattern, "Test")).MatchString(readText(t, path))
	})
}

// wrongFlag checks that each flag among arguments is known, or declared in a folder.
func wrongFlag(t *testing.T, folder string, args, known []string) string {
	t.Helper()
	for _, arg := range args {
		match := isFlag.FindStringSubmatch(arg)
		if match == nil || slices.Contains(known, match[1]) || match[1] == "help" {
			continue
		}
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		declared := regexp.MustCompile(fmt.Sprintf(`\bflags?\.\w+\((?:&[\w.]+, )?%q`, match[1]))
		if err != nil || !slices.ContainsFunc(paths, func(path string) bool { return declared.MatchString(readText(t, path)) }) {
			return "no flag " + arg
		}
	}
	return ""
}

// TestWrongCommands checks commands that are wrong, or are not.
func TestWrongCommands(t *testing.T) {
	for text, want := range map[string]string{
		"`make test`":                          "",
		"`make tset`":                          "no target tset",
		"`make soak FOR=2h`":                   "",
		"`make soak UNTIL=2h`":                 "no variable UNTIL",
		"$ make run ARGS=\"--nodes 3\" | cat":  "",
		"$ make run ARGS=\"--pods 3\" | cat":   "no flag --pods",
		"`kinformer cost\n--secrets`":          "",
		"`kinformer cost --passwords`":         "no flag --passwords",
		"`kinformer buy`":                      "no command buy",
		"`go -C examples run ./NAME`":          "",
		"`go -C examples run ./controller`":    "",
		"`go -C examples run ./missing`":       "no folder examples/missing",
		"`go -C missing run ./NAME`":           "no folder missing",
		"`go test ./cache -run TestPackedXY`":  "no test TestPackedXY",
		"`go test ./cache -run TestPacked -v`": "",
		"`go test ./cache -churn.pods 1`":      "",
		"`go test ./cache -churn.nodes 1`":     "no flag -churn.nodes",
		"`go -C cmd/kinformer run . buy`":      "no command buy",
	} {
		got := ""
		for _, command := range commandsOf(text) {
			got = wrongCommand(t, command)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
