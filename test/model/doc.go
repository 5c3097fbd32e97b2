// Package model tests whole informers, from outside, against a model of an API server. A program, a
// list of steps that a seed generates, writes to the server, lets requests fail, adds and removes
// handlers, lets time pass and stops the informer. After each step the test checks the informer's
// store, its indexes and what the handlers received against the history of the model, from which
// the server's answers are computed as well. A failing program is reduced to the steps it needs and
// printed; testdata/seeds.json has those that found a bug. In the comments, version means
// resourceVersion.
//
// Some programs read over HTTP, on connections inside the bubble, with faults of the bytes: that tests
// the client, the streaming and the decoding too.
//
// client-go's informer runs some of the programs as well. What it does differently is listed in
// differences_test.go, and in docs/contract.md.
//
// The flags -model.seed and -model.programs say which programs run:
//
//	go test -race ./test/model -v -model.seed=1 -model.programs=100000 -timeout 60m
package model
