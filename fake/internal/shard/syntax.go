// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"fmt"
	"regexp"
	"strings"
)

// call is a function call.
type call struct {
	function  string
	arguments []argument
}

// argument is a field path or a string literal.
type argument struct {
	text      string // the path, or the content of the literal
	isLiteral bool
}

// tokenPattern matches a name, a string or an operator, after white space.
var tokenPattern = regexp.MustCompile(`^[ \t\r\n\f]*([A-Za-z_][A-Za-z_0-9]*|'[^'\\\r\n]*'|"[^"\\\r\n]*"|\|\||[().,])`)

// tokenize returns the tokens of a text without trailing white space.
func tokenize(text string) ([]string, error) {
	var tokens []string
	for rest := text; rest != ""; {
		match := tokenPattern.FindStringSubmatch(rest)
		if match == nil {
			return nil, fmt.Errorf("CEL parse error: Syntax error: unexpected %q", rest)
		}
		tokens = append(tokens, match[1])
		rest = rest[len(match[0]):]
	}
	return tokens, nil
}

// parser reads tokens. Once it has found a syntax error, it reads no more of them.
type parser struct {
	tokens []string
	err    error
}

// calls reads calls joined by ||, up to the last token.
func (p *parser) calls() ([]call, error) {
	calls := []call{p.call()}
	for p.err == nil && len(p.tokens) > 0 {
		p.expect("||")
		calls = append(calls, p.call())
	}
	return calls, p.err
}

func (p *parser) call() call {
	c := call{function: p.name()}
	p.expect("(")
	if p.peek() != ")" {
		c.arguments = append(c.arguments, p.argument())
		for p.peek() == "," {
			p.next()
			c.arguments = append(c.arguments, p.argument())
		}
	}
	p.expect(")")
	return c
}

func (p *parser) argument() argument {
	if token := p.peek(); strings.HasPrefix(token, "'") || strings.HasPrefix(token, `"`) {
		p.next()
		return argument{text: token[1 : len(token)-1], isLiteral: true}
	}
	path := []string{p.name()}
	for p.peek() == "." {
		p.next()
		path = append(path, p.name())
	}
	return argument{text: strings.Join(path, ".")}
}

// name reads a token that is a name.
func (p *parser) name() string {
	token := p.next()
	if token == "" || strings.ContainsAny(token[:1], `'"|().,`) {
		p.fail(token)
	}
	return token
}

// expect reads a token that must be the given one.
func (p *parser) expect(want string) {
	if token := p.next(); token != want {
		p.fail(token)
	}
}

// peek returns the next token, or "" at the end or after an error.
func (p *parser) peek() string {
	if p.err != nil || len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

// next reads the next token.
func (p *parser) next() string {
	token := p.peek()
	if token != "" {
		p.tokens = p.tokens[1:]
	}
	return token
}

func (p *parser) fail(token string) {
	if p.err == nil {
		p.err = fmt.Errorf("CEL parse error: Syntax error: unexpected %q", token)
	}
}
