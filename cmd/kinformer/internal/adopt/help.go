// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

// Help describes the command.
const Help = `kinformer adopt makes a Go program use kinformer's informers in place of client-go's: it changes the imports and calls
that make informers, and leaves handlers, listers and Start as they are. docs/adopting.md of the repository has each
line before and after.

Usage: kinformer adopt PACKAGE... [flags]       such as: kinformer adopt ./...

The command shows a diff of the Go files and of go.mod, and lists what it cannot rewrite, with the lines to write, and
the informers that will not stream, which decode each list as a whole. It writes nothing before a yes, and needs git for
the diff. Only files of the module in the current directory are changed, and of generated files only the factories of
informer-gen: run the command again after each generation. A package that cannot be downloaded is listed, and the rest
is edited. A text for the pull request follows.

  --diff           print the diff, and write nothing
  -y, --yes        do not ask
  --streaming      also write cache.EnableStreaming where a client's config is made, for controller-runtime and clients
                   that the import alone does not reach
  --packed         write the option Packed. It is an error with controller-runtime's UnsafeDisableDeepCopy
  --try FILE       add the results of kinformer try -o json to the text for the pull request
  --cost FILE      add heap and peak, measured by kinformer cost -o json, and suggest Packed where it chooses that
  --tests          edit tests, too. By default they stay on client-go's informers
  --kinformer DIR  use the clone of kinformer in a folder, by a replace directive in go.mod. By default go.mod
                   requires the version of this command, unless it requires one already
`
