// Package conformance asks two API servers the same questions and compares their answers: the embedded one of package fake, and a kube-apiserver.
//
// The questions are scripts, one subject a file, under scripts/: requests, one a line, with what their answers are to show. [Run] sends them to a server
// and writes down the answers in a normal form, without what differs from run to run: UIDs, times, resourceVersions, of which only the relation to
// earlier ones is kept.
//
//	# what the script is about
//	save=v1 POST /api/v1/namespaces/{ns}/pods {"metadata":{"name":"a"}}     remembers the answer's resourceVersion as {v1}
//	show=.status.phase,.spec.nodeName GET /api/v1/namespaces/{ns}/pods/a     writes down two fields beside the metadata
//	accept=application/json;as=Table;g=meta.k8s.io;v=v1 GET ...              sends an Accept header; type= a Content-Type
//	quiet ...                                                                leaves out the message and the causes of an error
//	WATCH w /api/v1/namespaces/{ns}/pods?watch=true                          opens a watch named w
//	EVENTS w zz                                                              writes down its events up to that of an object zz, or to its end
//	COMPACT                                                                  makes the server forget all versions but the current one
//	WAIT /apis/...                                                           until a path is served: custom resources take a moment
//
// {ns} is a Namespace of the script's own, which exists when it begins.
//
// The answers of kube-apiserver v1.36.3 are recorded under recorded/. The tests of package fake compare with the record; those in e2e/ ask the
// real server again, so that the record cannot grow old. [Differences] lists where the two differ, each with the reason why that is accepted.
//
// [Clients] is the other half: round trips through unmodified clients, with the same expectations of every server.
//
// This package imports testing, and is for tests alone.
package conformance
