// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
)

// pkg is a package of the program, or the external tests of one.
type pkg struct {
	listed  *listed
	files   []string // names in the package's folder
	sources []*source
}

// source is a Go file.
type source struct {
	program   *program
	path      string
	target    string // the path without symbolic links
	name      string // relative to the folder of go.mod
	text      []byte
	file      *ast.File
	set       *token.FileSet
	info      *types.Info
	scope     *types.Scope // of the package
	generated bool
	imports   []*imported
	added     map[string]string // import path to name, of imports that were added
	taken     map[string]bool   // names that are not free
	variables map[ast.Node]int  // the number of variables that were added to a block
	edits     []edit
}

// imported is an import of a source.
type imported struct {
	spec *ast.ImportSpec
	path string
	name string // in the source
	uses []*ast.SelectorExpr
	// The number of uses that edits have given another package.
	requalified int
}

// edit replaces a part of a source.
type edit struct {
	from, to token.Pos
	text     string
}

type node interface{ Pos() token.Pos }

// isTest reports whether the file is one of tests.
func (s *source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }

func (s *source) line(at token.Pos) int { return s.set.Position(at).Line }

// textOf returns the text of a node.
func (s *source) textOf(n ast.Node) string {
	return string(s.text[s.offset(n.Pos()):s.offset(n.End())])
}

func (s *source) offset(at token.Pos) int { return s.set.Position(at).Offset }

// mayMakeInformers matches the text of files that may make informers or prepare clients for them:
// they name a package or a function.
var mayMakeInformers = regexp.MustCompile(`nformer|"` + regexp.QuoteMeta(toolsCache) + `"|"` + regexp.QuoteMeta(runtimePath))

// parse parses the files of the package, unless none may make informers. It notes files that are
// not built on this platform and cannot be parsed, such as templates.
func (a *adopter) parse(p *pkg) error {
	set := token.NewFileSet()
	var sources []*source
	for _, name := range p.files {
		s := &source{program: a.program, path: filepath.Join(p.listed.Dir, name), set: set, added: map[string]string{}, variables: map[ast.Node]int{}}
		relative, err := filepath.Rel(a.program.root, s.path)
		if err != nil {
			return err
		}
		s.name = filepath.ToSlash(relative)
		if s.target, err = filepath.EvalSymlinks(s.path); err != nil {
			return err
		}
		if s.text, err = os.ReadFile(s.path); err != nil {
			return err
		}
		sources = append(sources, s)
	}
	if !slices.ContainsFunc(sources, func(s *source) bool { return mayMakeInformers.Match(s.text) }) {
		return nil
	}
	for _, s := range sources {
		var err error
		s.file, err = parser.ParseFile(set, s.path, s.text, parser.ParseComments|parser.SkipObjectResolution)
		if failures, ok := errors.AsType[scanner.ErrorList](err); ok && slices.Contains(p.listed.IgnoredGoFiles, filepath.Base(s.path)) {
			a.notes = append(a.notes, note{s.name, failures[0].Pos.Line, "not parsed, and not built on this platform: " + failures[0].Msg, nil})
			continue
		}
		if err != nil {
			return fmt.Errorf("parse %s: %w", s.name, err)
		}
		s.generated = ast.IsGenerated(s.file)
		p.sources = append(p.sources, s)
	}
	return nil
}

// candidates returns the imports of a source whose packages may be generated ones that make
// informers.
func (s *source) candidates() (importPaths []string) {
	used := map[string]bool{}       // what qualifies a name
	qualifiers := map[string]bool{} // of calls that may make informers
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			used[identName(n.X)] = true
		case *ast.CallExpr:
			function, ok := n.Fun.(*ast.SelectorExpr)
			if ok && identName(function.X) != "" && (factoryFunc.MatchString(function.Sel.Name) || informerFunc.MatchString(function.Sel.Name)) {
				qualifiers[identName(function.X)] = true
			}
		}
		return true
	})
	var unnamed []string // whose names are not the last elements of their paths
	found := map[string]bool{}
	for _, spec := range s.file.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil || slices.Contains(clientGoPaths(), importPath) || strings.HasPrefix(importPath, gomod.Kinformer+"/") {
			continue
		}
		name := s.program.nameOf(importPath)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		found[name] = true
		switch {
		case qualifiers[name], strings.Contains(importPath, "/informers/"), importPath == runtimePath && spec.Name == nil:
			importPaths = append(importPaths, importPath)
		case spec.Name == nil && !used[name]:
			unnamed = append(unnamed, importPath)
		}
	}
	for name := range qualifiers {
		if !found[name] { // a variable, or one of those
			return append(importPaths, unnamed...)
		}
	}
	return importPaths
}

// check finds what the names in the files of the package refer to. Files that are not built may
// belong to a package of another name.
func (p *pkg) check(program *program) {
	files := map[string][]*source{}
	for _, s := range p.sources {
		files[s.file.Name.Name] = append(files[s.file.Name.Name], s)
	}
	for _, sources := range files {
		program.check(p.listed.ImportPath, sources)
	}
}

// check finds what the names in the files of a package refer to. The packages that the files import
// are empty here. The type checker says for all that what a name refers to: an import, or a
// variable of the same name.
func (p *program) check(importPath string, sources []*source) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	var files []*ast.File
	for _, s := range sources {
		files = append(files, s.file)
	}
	config := types.Config{Importer: emptyImporter{p}, Error: func(error) {}, FakeImportC: true}
	checked, _ := config.Check(importPath, sources[0].set, files, info) // with errors, as the imports are empty
	for _, s := range sources {
		s.info, s.scope = info, checked.Scope()
		s.resolveImports()
	}
}

// emptyImporter imports packages without any name.
type emptyImporter struct{ program *program }

// Import implements types.Importer.
func (i emptyImporter) Import(importPath string) (*types.Package, error) {
	imported := types.NewPackage(importPath, i.program.nameOf(importPath))
	imported.MarkComplete()
	return imported, nil
}

// versionElement is the last element of the import paths of later major versions.
var versionElement = regexp.MustCompile(`^v\d+$`)

// nameOf returns the name of the package with an import path.
func (p *program) nameOf(importPath string) string {
	if l := p.lookup(importPath); l != nil {
		return l.Name
	}
	name := path.Base(importPath) // a guess, for imports that make no informers
	if versionElement.MatchString(name) {
		name = path.Base(path.Dir(importPath))
	}
	return name
}

// resolveImports finds the imports of the file, and what it uses of them.
func (s *source) resolveImports() {
	for _, spec := range s.file.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		i := &imported{spec: spec, path: importPath, name: s.program.nameOf(importPath)}
		if spec.Name != nil {
			i.name = spec.Name.Name
		}
		s.imports = append(s.imports, i)
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if i := s.importOf(selector); i != nil {
				i.uses = append(i.uses, selector)
			}
		}
		return true
	})
}

// importOf returns the import that qualifies a name, or nil.
func (s *source) importOf(e ast.Expr) *imported {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	x, ok := selector.X.(*ast.Ident)
	if !ok {
		return nil
	}
	if used := s.info.Uses[x]; used != nil {
		if _, isPackage := used.(*types.PkgName); !isPackage {
			return nil
		}
	}
	for _, i := range s.imports {
		if i.name == x.Name {
			return i
		}
	}
	return nil
}

// objectOf returns the object that a name declares or refers to, or nil.
func (s *source) objectOf(name *ast.Ident) types.Object {
	if object := s.info.Defs[name]; object != nil {
		return object
	}
	return s.info.Uses[name]
}

// imported returns the import of a path, or nil.
func (s *source) imported(importPath string) *imported {
	for _, i := range s.imports {
		if i.path == importPath && i.name != "_" && i.name != "." {
			return i
		}
	}
	return nil
}

// isQualified reports whether an expression is one of the names of the package with an import path.
func (s *source) isQualified(e ast.Expr, importPath string, names ...string) bool {
	i := s.importOf(e)
	return i != nil && i.path == importPath && slices.Contains(names, e.(*ast.SelectorExpr).Sel.Name)
}

// replace replaces the text of a node.
func (s *source) replace(n ast.Node, text string) {
	s.edits = append(s.edits, edit{n.Pos(), n.End(), text})
}

// insert inserts text at a position.
func (s *source) insert(at token.Pos, text string) { s.edits = append(s.edits, edit{at, at, text}) }

// requalify makes a use of an import one of another package.
func (s *source) requalify(i *imported, use *ast.SelectorExpr, name string) {
	s.replace(use.X, name)
	i.requalified++
}

// use returns the name of a package in the source, and imports it if necessary. near is an import
// that the new one is put beside. names are what the package is called if it is imported: the
// first that nothing else in the file has.
func (s *source) use(importPath string, near *imported, names ...string) string {
	if i := s.imported(importPath); i != nil {
		return i.name
	}
	if name, ok := s.added[importPath]; ok {
		return name
	}
	name := s.unused(names...)
	s.added[importPath] = name
	spec := strconv.Quote(importPath)
	if name != path.Base(importPath) {
		spec = name + " " + spec
	}
	at := near.spec.Pos()
	if near.spec.Doc != nil {
		at = near.spec.Doc.Pos()
	}
	if start, indent, ok := s.lineOf(at); ok {
		s.insert(start, indent+spec+"\n")
	} else {
		s.insert(s.endWithComment(s.declarationOf(near).End()), "\nimport "+spec)
	}
	return name
}

// unused returns the first name that neither the file nor the package has, nor an earlier edit.
func (s *source) unused(names ...string) string {
	s.findTaken()
	for n := 2; ; n++ {
		for _, name := range names {
			if !s.taken[name] && s.scope.Lookup(name) == nil {
				s.taken[name] = true
				return name
			}
		}
		names = []string{strings.TrimRight(names[0], "0123456789") + strconv.Itoa(n)}
	}
}

// generatedName returns a name, for the result of clientgo.Generated, that neither the file has nor
// an earlier edit of the block.
func (s *source) generatedName(block ast.Node) string {
	s.findTaken()
	s.variables[block]++
	name := "generated"
	if n := s.variables[block]; n > 1 {
		name += strconv.Itoa(n)
	}
	for s.taken[name] {
		name += "Factory"
	}
	return name
}

// findTaken finds the names that are not free, once.
func (s *source) findTaken() {
	if s.taken != nil {
		return
	}
	s.taken = map[string]bool{}
	for _, i := range s.imports {
		s.taken[i.name] = true
	}
	s.take(s.file)
}

// take records the names in a node, except those that another name qualifies.
func (s *source) take(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			s.take(n.X)
			return false
		case *ast.Ident:
			s.taken[n.Name] = true
		}
		return true
	})
}

// declarationOf returns the declaration of an import.
func (s *source) declarationOf(i *imported) *ast.GenDecl {
	for _, declaration := range s.file.Decls {
		if d, ok := declaration.(*ast.GenDecl); ok && slices.Contains(d.Specs, ast.Spec(i.spec)) {
			return d
		}
	}
	return nil
}

// lineOf returns the beginning of the line of a position, and the white space there. It reports
// false if there is more before the position.
func (s *source) lineOf(at token.Pos) (start token.Pos, indent string, ok bool) {
	offset := s.offset(at)
	before := s.text[bytes.LastIndexByte(s.text[:offset], '\n')+1 : offset]
	return at - token.Pos(len(before)), string(before), len(bytes.TrimSpace(before)) == 0
}

// endWithComment returns the end of the comment that follows a position in its line or, if there is
// none, the position.
func (s *source) endWithComment(at token.Pos) token.Pos {
	for _, comment := range s.file.Comments {
		if comment.Pos() >= at && s.line(comment.Pos()) == s.line(at) && len(bytes.TrimSpace(s.text[s.offset(at):s.offset(comment.Pos())])) == 0 {
			return comment.End()
		}
	}
	return at
}

// indentOf returns the white space at the beginning of a node's line.
func (s *source) indentOf(n node) string {
	offset := s.offset(n.Pos())
	line := s.text[bytes.LastIndexByte(s.text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// statementsOf returns the statements of a block, or of a case, which is one, too.
func statementsOf(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return slices.DeleteFunc(slices.Clone(n.List), func(s ast.Stmt) bool { return isCase(s) })
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// isBlock reports whether a node is a block or a case.
func isBlock(n ast.Node) bool {
	_, ok := n.(*ast.BlockStmt)
	return ok || isCase(n)
}

func isCase(n ast.Node) bool {
	switch n.(type) {
	case *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

// result returns the text with the edits. If the text was formatted as by gofmt, so is the result.
func (s *source) result() ([]byte, error) {
	if len(s.edits) == 0 {
		return s.text, nil
	}
	for _, i := range s.imports {
		if i.requalified > 0 && i.requalified == len(i.uses) {
			s.removeImport(i)
		}
	}
	slices.SortStableFunc(s.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(min(1, a.to-a.from), min(1, b.to-b.from))) // insertions first
	})
	var text []byte
	last := 0
	for _, e := range s.edits {
		if s.offset(e.from) < last {
			return nil, fmt.Errorf("edit %s:%d: edits overlap", s.name, s.line(e.from))
		}
		text = append(append(text, s.text[last:s.offset(e.from)]...), e.text...)
		last = s.offset(e.to)
	}
	text = append(text, s.text[last:]...)
	if before, err := format.Source(s.text); err != nil || !bytes.Equal(before, s.text) {
		return text, nil //nolint:nilerr // such a file is not formatted either
	}
	formatted, err := format.Source(text)
	if err != nil {
		return nil, fmt.Errorf("format %s: %w", s.name, err)
	}
	return formatted, nil
}

// removeImport removes an import that the file no longer uses, with its line. Other comments stay.
func (s *source) removeImport(i *imported) {
	d := s.declarationOf(i)
	if !d.Lparen.IsValid() || s.isAlone(i, d) {
		s.edits = append(s.edits, edit{d.Pos(), s.endWithComment(d.End()), ""})
		return
	}
	from, to := i.spec.Pos(), i.spec.End()
	if i.spec.Comment != nil {
		to = i.spec.Comment.End()
	}
	if start, _, ok := s.lineOf(from); ok {
		from = start
		if end := s.offset(to); end < len(s.text) && s.text[end] == '\n' {
			to++
		}
	}
	s.edits = append(s.edits, edit{from, to, ""})
}

// isAlone reports whether a declaration has only one import, no comment above or below it, and no
// edit that adds one.
func (s *source) isAlone(i *imported, d *ast.GenDecl) bool {
	isWithin := func(at token.Pos) bool { return at > d.Pos() && at < d.End() }
	return len(d.Specs) == 1 &&
		!slices.ContainsFunc(s.edits, func(e edit) bool { return isWithin(e.from) }) &&
		!slices.ContainsFunc(s.file.Comments, func(c *ast.CommentGroup) bool { return c != i.spec.Comment && isWithin(c.Pos()) })
}
