// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance sends the same requests to two API servers, the one of package fake and
// kube-apiserver, and compares their responses.
//
// The requests are scripts in scripts/, one subject per file and one step per line. [RunScripts]
// sends them to a server and records the responses in a normalized form, without values that differ
// between runs: UIDs, times and resourceVersions. Of a resourceVersion it keeps the relation to
// earlier ones.
//
//	# a comment
//	save=v1 POST /api/v1/... {...}            saves the resourceVersion of the response as {v1}
//	show=.status.phase,.spec GET /api/v1/...  records two fields besides the metadata
//	accept=application/json GET ...           sets the Accept header
//	type=merge PATCH ...                      sets the Content-Type header
//	quiet ...                                 omits the message and the causes of an error
//	causes ...                                records the code, and of an error the types and fields of its causes
//	WATCH w /api/v1/...?watch=true            opens a watch named w
//	EVENTS w zz                               records events up to one of object zz, or the end
//	COMPACT                                   discards all versions except the current one
//	RESTART                                   forgets what watches start from, but no version
//	WAIT /apis/...                            waits until a path is served
//	code=404 WAIT /apis/...                   waits until a GET of a path has a status code
//	code=201 WAIT /api/v1/...?dryRun=All {}   waits until a POST has a status code
//	MUTATE POST /apis/... {...}               sends the object again and again, each time with another value of one field
//
// {ns} is a Namespace that RunScripts creates for each script.
//
// The script "sharded" is for servers with the feature gate ShardedListAndWatch, all others are for
// servers with the default gates. [Transcript.RunShardedScript] runs it.
//
// The directory recorded/ holds the responses of kube-apiserver v1.36.3. The tests of this package
// compare those of the fake server with this recording. The tests in e2e/ compare it with a running
// kube-apiserver, so it stays valid. [Differences] lists the accepted differences of the two
// servers, with reasons.
//
// [RunClients] makes round trips through unmodified clients and expects the same results from every
// server.
//
// The package imports testing and is for tests only.
package conformance
