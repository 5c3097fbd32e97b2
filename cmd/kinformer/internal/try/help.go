// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

// Help describes the command.
const Help = `kinformer try runs the tests of the Go module in this folder on client-go's informers and on kinformer's, and reports
the differences. No file of the module changes.

Usage: kinformer try PACKAGE... [flags]        such as: kinformer try ./...

The tests are compiled once, with a temporary go.mod that requires kinformer, and with files that replace client-go's
constructors of informers, also for the code of other modules. Each test binary then runs on either side.
For each package the report has the number of informers made, of tests, of failures, the time, and the peak resident
memory. A package whose tests make no informer is not tried. If the outcome of a test differs, both sides run three
times. The exit code is 1 if a difference remains, or if nothing was tried. The row of a package is printed as soon as
both sides have run; a command that is interrupted prints what it has. The report also lists the informers of the
program that will not stream after kinformer adopt and, if all results are equal, has a text for the pull request. For
that, the main packages are built on both sides.

  --run REGEXP          run only these tests, as in go test
  --packed              kinformer's informers store objects as bytes. It is an error with controller-runtime's
                        UnsafeDisableDeepCopy
  --omit-fields PATHS   kinformer's informers leave out fields, such as metadata.managedFields
  --cost FILE           add heap and peak, measured by kinformer cost -o json, to the text for the pull request
  --kinformer DIR       use kinformer's source in a folder. The default is the version of the command, or a higher one
                        that go.mod requires
  -o, --output FORMAT   table (default) or json

Flags of the go command, such as -tags or -race, are given in the environment: GOFLAGS=-tags=x kinformer try ./...
-short and -timeout are passed on to the test binaries; their other flags are ignored.
docs/command.md of the repository has more.
`
