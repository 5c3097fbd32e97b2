// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command mutants shows that the tests of this repository notice faults. It applies each of the
// changes described in *.diff, one at a time, by an overlay of the compiler, and runs the tests:
//
//	make mutants            # all of them
//	make mutants SAMPLE=15  # some, others for each commit
//	make mutants ONLY=relist
//
// A test that fails kills the mutant. The command first runs the tests that the mutant names; if
// they pass, all tests of their package and of the changed one, and then the black-box tests. It
// fails if a mutant survives without an explanation, or does not compile. The files of the
// repository do not change.
//
// A mutant is a paragraph of a *.diff file:
//
//	=== an event is applied in part
//	file internal/store/write.go
//	test ./internal/store -run=TestX -race -count=5
//	 a line that stays
//	-a line that goes
//	+a line that comes
//
// Files and packages are named by their paths in the repository, those of module test included. The
// lines that stay or go must be in the file exactly once, and have no empty line among them. A line
// "survives because ..." explains a mutant that no test can kill.
//
// The command runs in the folder of module test, as go -C test run ./mutants does.
package main
