// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"regexp"
	"slices"
)

// difference is a way in which client-go's informer violates an invariant that this module's keeps.
type difference struct {
	text      string           // what client-go does
	promise   string           // the title of the sentence of docs/contract.md that promises otherwise
	violation *regexp.Regexp   // the violations that it causes
	remove    func(p *program) // removes the cause from a program
}

// differences are all the differences that are known. A violation is explained by the first one
// that matches it, if the program has its cause.
var differences = []difference{
	{
		"It has no filter: it stores every object.",
		"An object that cannot be stored does not look deleted.",
		regexp.MustCompile(`refused|filter`),
		makeGood(badRefused, badFilter),
	},
	{
		"It calls the transform twice for the objects of a WatchList.",
		"A transform is called once for each received state.",
		regexp.MustCompile(`was transformed 2 times`),
		func(p *program) { p.Options.Idempotent = true },
	},
	{
		"A relist delivers an update of each object, changed or not.",
		"There are no empty updates.",
		regexp.MustCompile(`^event: .* empty update of `),
		func(p *program) { p.Options.RelistUpdates = true },
	},
	{
		"A state whose transform fails is lost, and a list that has one is not stored.",
		"Invalid input is rejected.",
		regexp.MustCompile(`^(store|convergence|fold|event): `),
		makeGood(badTransform, badPanic),
	},
	{
		"A state that the transform ignores fails the list, and its deletion is not applied.",
		"A transform may ignore a state.",
		regexp.MustCompile(`^(store|convergence|fold|event): `),
		makeGood(badSkip),
	},
	{
		"One object that cannot be decoded stops the whole collection.",
		"An object that cannot be stored does not look deleted.",
		regexp.MustCompile(`^(store|convergence|fold|event): `),
		makeGood(badBytes),
	},
	{
		"An object of any size is stored.",
		"A server is not trusted.",
		regexp.MustCompile(`^(store|convergence|fold|event): .*large`),
		makeGood(badLarge),
	},
	{
		"An index function that fails panics: a change is lost, or stored without an index or event.",
		"Indexes match the stored state.",
		regexp.MustCompile(`^(store|index|fold|convergence|event): `),
		makeGood(badIndex),
	},
	{
		"A handler that ends its goroutine receives nothing more.",
		"A panic has a policy.",
		regexp.MustCompile(`^fold: `),
		makeFast(paceExit),
	},
	{
		"A handler that panicked during the initial list is never synced.",
		"Synced means delivered.",
		regexp.MustCompile(`^fold: .* synced: false`),
		makeFast(pacePanic),
	},
	{
		"A handler that panicked pauses for a second when its next event arrives, not at once.",
		"A panic has a policy.",
		regexp.MustCompile(`^fold: .* synced: true`),
		makeFast(pacePanic),
	},
	{
		"An object that was recreated while the watch was closed is an update, or a deletion with another UID.",
		"A name is not an identity.",
		regexp.MustCompile(`^event: .* (Update|Delete) of \S+, delivered before: [a-c]/`),
		func(p *program) { p.Options.SameUID = true },
	},
	{
		"The old state of an update may be a copy of the one delivered before, if some handlers have a resync period.",
		"The old state is the one delivered last.",
		regexp.MustCompile(`^event: .* update from a copy of `),
		removeResyncs,
	},
	{
		"An event older than the stored state is stored, and the watch continues from its version.",
		"States of an object appear in order.",
		regexp.MustCompile(`^(store|convergence|event|fold): `),
		removeFaults(faultReplay, faultDuplicate),
	},
	{
		"The backlog of a blocked handler is not bounded.",
		"The backlog of a blocked handler is bounded",
		regexp.MustCompile(`^backlog: `),
		func(p *program) { p.removeSteps(func(s step) bool { return s.Op == opFlood }) },
	},
	{
		"A bookmark older than the store moves the version back.",
		"States of an object appear in order.",
		regexp.MustCompile(`^(store|convergence|event|fold): `),
		removeFaults(faultOldBookmark),
	},
	{
		"If Run ends while a change is applied, the store may lack it, although it shows its version.",
		"A read shows one state.",
		regexp.MustCompile(`^store: `),
		func(p *program) {
			for i := range p.Steps {
				p.Steps[i].NoWait = false
			}
		},
	},
	{
		"A list older than the store is stored.",
		"States of an object appear in order.",
		regexp.MustCompile(`^(store|convergence|event|fold): `),
		removeFaults(faultLag),
	},
	{
		"A restore of the server is not noticed: the store keeps states that no longer exist.",
		"The store becomes equal to the server.",
		regexp.MustCompile(`^(store|convergence|event|fold): `),
		func(p *program) { p.removeSteps(func(s step) bool { return s.Op == opRestore }) },
	},
	{
		"A silent watch is not given up.",
		"The store becomes equal to the server.",
		regexp.MustCompile(`^convergence: `),
		removeFaults(faultStall, faultSilence, faultTrickle),
	},
	{
		"A request without an answer is not given up.",
		"The store becomes equal to the server.",
		regexp.MustCompile(`^convergence: `),
		removeFaults(faultHold),
	},
	{
		"A list of another kind is stored.",
		"Invalid input is rejected.",
		regexp.MustCompile(`^(store|event|fold): `),
		removeFaults(faultKind),
	},
	{
		"A list without a version is stored.",
		"Invalid input is rejected.",
		regexp.MustCompile(`^(store|event|fold): `),
		removeFaults(faultNoVersion),
	},
	{
		"An invalid event is skipped, and the watch continues from its version.",
		"Invalid input is rejected.",
		regexp.MustCompile(`^(store|convergence|event|fold): `),
		removeFaults("object of another kind", "unknown event"),
	},
	{
		"Requests are repeated without a limit.",
		"The rate of requests is limited.",
		regexp.MustCompile(`^rate: `),
		func(p *program) {
			p.removeSteps(func(s step) bool { return s.Fault != nil || s.Op == opRestore || s.Op == opLag })
			makeGood(slices.Concat(badStates, []string{badBytes, badLarge})...)(p)
		},
	},
	{
		"A handler may be called after it was removed.",
		"A handler may be removed at any time.",
		regexp.MustCompile(`^call: `),
		func(p *program) { p.removeSteps(func(s step) bool { return s.Op == opRemove }) },
	},
	{
		"Run waits until the backoff of a WatchList ends.",
		"Run returns when its context ends.",
		regexp.MustCompile(`^stop: Run returned <nil> after`),
		func(p *program) { p.Options.WatchList = false },
	},
}

// explains reports whether the difference causes a violation. The program has its cause then.
func (d difference) explains(x *execution) bool {
	return d.violation.MatchString(x.violation.String()) && mustJSON(d.without(x.program)) != mustJSON(x.program)
}

// without returns a program without the cause of the difference.
func (d difference) without(p program) program { return withSteps(p, d.remove) }

// withSteps returns a changed copy of a program.
func withSteps(p program, change func(p *program)) program {
	p.Steps = slices.Clone(p.Steps)
	change(&p)
	return p
}

// makeGood lets no function fail for the states of some kinds.
func makeGood(bad ...string) func(p *program) {
	return func(p *program) {
		for i := range p.Steps {
			if slices.Contains(bad, p.Steps[i].Bad) {
				p.Steps[i].Bad = ""
			}
		}
	}
}

// makeFast changes the pace of handlers.
func makeFast(pace string) func(p *program) {
	return changeHandlers(func(h *handlerSpec) {
		if h.Pace == pace {
			h.Pace = paceFast
		}
	})
}

// changeHandlers changes copies of the handlers of a program.
func changeHandlers(change func(h *handlerSpec)) func(p *program) {
	return func(p *program) {
		for i := range p.Steps {
			if h := p.Steps[i].Handler; h != nil {
				p.Steps[i].Handler = new(*h)
				change(p.Steps[i].Handler)
			}
		}
	}
}

func removeResyncs(p *program) {
	p.Options.Resync = 0
	changeHandlers(func(h *handlerSpec) { h.Resync = 0 })(p)
}

// removeFaults removes the faults of some kinds.
func removeFaults(kinds ...string) func(p *program) {
	return func(p *program) {
		p.removeSteps(func(s step) bool { return s.Fault != nil && slices.Contains(kinds, s.Fault.Kind) })
	}
}

func (p *program) removeSteps(remove func(step) bool) { p.Steps = slices.DeleteFunc(p.Steps, remove) }
