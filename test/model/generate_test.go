// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"math/rand/v2"
	"slices"
	"time"
)

// stepsPerProgram is the mean number of steps.
const stepsPerProgram = 18

// generator draws the steps of a program. A program has only some of the operations and faults, so
// that those that it has are more frequent.
type generator struct {
	*rand.Rand
	program  program
	weights  map[string]int // of operations
	faults   []fault
	handlers int
	blocking bool       // functions may block and end their goroutine
	hasty    bool       // steps may follow without a wait
	later    *rand.Rand // of what was added later, so that a seed stands for the same steps as before
	large    *rand.Rand // of the versions, for the same reason
	kept     *rand.Rand // of what the store keeps of an object, for the same reason
	served   *rand.Rand // of whether the resource is served, for the same reason
	skew     *rand.Rand // of what API servers of two versions show, and of restarts, for the same reason
}

func generate(seed uint64) program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), later: rand.New(rand.NewPCG(seed, 1)), large: rand.New(rand.NewPCG(seed, 2)), kept: rand.New(rand.NewPCG(seed, 3)), served: rand.New(rand.NewPCG(seed, 4)), skew: rand.New(rand.NewPCG(seed, 5))}
	g.program.Options = g.options()
	g.blocking = g.program.Options.Functions && g.chance(0.15)
	g.hasty = g.chance(0.4)
	g.weights = g.operations()
	g.faults = g.swarm()
	g.start()
	for range stepsPerProgram/2 + g.IntN(stepsPerProgram) {
		g.step(g.operation())
	}
	if g.chance(1. / 250) {
		g.flood()
	}
	g.end()
	if o := &g.program.Options; *servedResources && g.served.Float64() < 0.3 && (!o.Adapter || o.Wire != "") {
		o.Served, o.Pending = true, g.served.Float64() < 0.3
		addServed(&g.program, g.served)
	}
	if g.skew.Float64() < 0.3 {
		addSkew(&g.program, g.skew)
	}
	return g.program
}

// overHTTP is the part of the programs whose informer reads over HTTP. They take longer. In these
// no function blocks: a mutex would be held meanwhile, for which the time of a bubble stops.
const overHTTP = 0.15

func (g *generator) options() options {
	o := options{
		Adapter: g.chance(0.3), Packed: g.chance(0.3), ShareEqual: g.chance(0.2),
		WatchList: pick(g, false, true), PageSize: pick[int64](g, 0, 0, 2, 3, -1),
		Functions: g.chance(0.5),
		Start:     pick[uint64](g, 1, 8, 95, 997, 1<<53-3, 1e18-5),
		Bookmarks: pick(g, 0, time.Minute, time.Minute, 7*time.Minute),
		Replicas:  pick(g, 1, 1, 2, 3),
		Procs:     pick(g, 0, 1, 2, 4),
	}
	o.Omit = o.Start == 8 || o.Start == 997 // not drawn: a seed is to stand for the same program
	if o.PageSize > 0 && g.chance(0.7) {
		o.WatchList = false
	}
	if g.chance(0.2) {
		o.Resync = pick(g, 20*time.Second, 5*time.Minute)
	}
	if o.Adapter {
		o.RelistUpdates, o.Coalesce = g.chance(0.3), g.chance(0.3)
	}
	if g.chance(0.06) {
		o.Report, o.ReportAt = pick(g, reportPanics, reportBlocks, reportExits), 1+g.IntN(4)
	}
	if o.Report != reportBlocks && g.chance(overHTTP) {
		o.Wire, o.HTTP2, o.Gzip = pick(g, "JSON", "protobuf"), g.chance(0.3), g.chance(0.3)
		if o.Report == reportBlocks { // see bad
			o.Report = reportPanics
		}
	}
	o.NoMatch = g.later.Float64() < 0.1
	if *largeVersions && g.large.Float64() < 0.15 {
		o.Start, o.VersionBase = 1, versionBases[g.large.IntN(len(versionBases))]
	}
	o.Partial = g.kept.Float64() < 0.4 && !o.Adapter
	o.NoTransform = g.kept.Float64() < 0.5 && !o.Functions
	return o
}

// operations returns the weights of a random subset of all operations.
func (g *generator) operations() map[string]int {
	weights := map[string]int{
		opPut: 12, opAdvance: 8, opDelete: 5, opRecreate: 2, opSkip: 2, opCompact: 3, opRestore: 1, opBookmark: 2, opClose: 2, opFault: 6,
		opHeal: 1, opAdd: 2, opRemove: 1, opUnblock: 1, opWait: 2, opWaitSync: 1, opRead: 2, opHold: 1,
	}
	if g.program.Options.Replicas > 1 {
		weights[opSwitch], weights[opLag], weights[opCatchUp] = 3, 4, 2
	}
	if g.blocking {
		weights[opRelease] = 1
	}
	for _, op := range sortedKeys(weights) {
		if op != opPut && op != opAdvance && g.chance(0.3) {
			delete(weights, op)
		}
	}
	return weights
}

// swarm returns the faults that the program may have: one to five. With pages, the collection
// changes between some of them.
func (g *generator) swarm() []fault {
	faults := make([]fault, 1+g.IntN(5))
	targets := []string{targetList, targetList, targetWatch, targetWatch, targetWatch, targetProbe}
	if g.program.Options.PageSize > 0 {
		targets = append(targets, targetPage, targetPage, targetPage)
	}
	for i := range faults {
		target := pick(g, targets...)
		if g.program.Options.PageSize > 0 && i == 0 && g.chance(0.5) {
			faults[i] = fault{Kind: pick(g, faultLate, faultSlow), Target: targetPage, Times: pick(g, 1, 2, 6, -1)}
			continue
		}
		faults[i] = fault{Kind: pick(g, faultKinds[target]...), Target: target, Times: pick(g, 1, 1, 2, 3, 6, -1, -1)}
		if target == targetWatch {
			faults[i].After = pick(g, 0, 0, 1, 2, 5)
		}
		if g.program.Options.Wire != "" && g.chance(0.5) {
			faults[i].Kind, faults[i].Bytes = pick(g, byteFaults...), pick(g, 0, 0, 1, 10, 50, 100, 200, 500, 1000)
		}
		if faults[i].Kind == faultNoMetadata && g.program.Options.Adapter {
			faults[i].Kind = faultClose
		}
	}
	return faults
}

// operation returns a random operation.
func (g *generator) operation() string {
	sum := 0
	for _, weight := range g.weights {
		sum += weight
	}
	n := g.IntN(sum)
	for _, op := range sortedKeys(g.weights) {
		if n -= g.weights[op]; n < 0 {
			return op
		}
	}
	panic("unreachable")
}

// start adds the steps before the informer runs. A few programs stop it before that.
func (g *generator) start() {
	for range g.IntN(8) {
		g.step(opPut)
	}
	for range g.IntN(3) {
		g.step(opAdd)
	}
	if g.chance(0.4) {
		g.step(opFault)
	}
	if g.chance(0.02) {
		g.step(opStop)
	}
	if g.later.Float64() < 0.2 {
		g.add(step{Op: opLag}) // the first replica, which answers
		for range g.later.IntN(3) {
			g.add(step{Op: opPut, Key: keys[g.later.IntN(len(keys))], N: 1})
		}
	}
	g.step(opRun)
}

// end adds the steps at the end. Some programs end while their faults last.
func (g *generator) end() {
	if g.chance(0.8) {
		g.add(step{Op: opQuiesce})
	}
	if g.chance(0.1) {
		g.step(opRun)
	}
	g.step(opStop)
	for range g.IntN(3) {
		g.step(g.operation())
	}
	if g.chance(0.1) {
		g.step(opRun)
	}
}

// flood adds a handler that blocks, and more changes than it keeps one by one. Without pages,
// faults or failing functions, they arrive while it blocks.
func (g *generator) flood() {
	g.add(step{Op: opHeal})
	g.add(step{Op: opAdd, Handler: &handlerSpec{Kind: kindEvent, Pace: paceBlock, Every: 1}})
	g.add(step{Op: opPut, Key: keys[0], N: 1})
	g.add(step{Op: opFlood, N: 12_000 + g.IntN(2_000)})
	g.handlers++
	for range g.IntN(4) {
		g.step(g.operation())
	}
	for n := range g.handlers {
		g.add(step{Op: opUnblock, N: n})
	}
}

func (g *generator) add(s step) { g.program.Steps = append(g.program.Steps, s) }

// step adds a step with an operation.
func (g *generator) step(op string) {
	s := step{Op: op, NoWait: g.hasty && g.chance(0.5)}
	switch op {
	case opPut:
		s.Key, s.N, s.Bad = pick(g, keys...), pick(g, 1, 1, 1, 2, 5), g.bad()
	case opDelete, opRecreate:
		s.Key, s.Bad = pick(g, keys...), g.bad()
	case opSkip:
		s.N = pick(g, 1, 2, 10, 100)
	case opRestore:
		s.N = g.IntN(8)
		s.Overtake, s.Pattern = g.overtake()
	case opFault:
		g.injectFaults()
		return
	case opAdvance:
		s.For = pick(g, time.Millisecond, time.Second, 5*time.Second, 20*time.Second, time.Minute, 3*time.Minute, 11*time.Minute)
	case opAdd:
		s.Handler = g.handler()
		g.handlers++
	case opRemove, opUnblock:
		s.N = g.IntN(g.handlers + 1)
	case opRead:
		s.N = pick(g, 1, 10, 50)
	case opCompact:
		s.N = g.IntN(g.program.Options.Replicas + 1)
	case opSwitch, opLag, opCatchUp:
		s.N = g.IntN(g.program.Options.Replicas)
	}
	g.add(s)
}

// overtake returns how the versions of a restored server pass the lost ones.
func (g *generator) overtake() (how string, pattern int) {
	all := []string{"", overtakeLive, overtakeLive, overtakeRestarted, overtakeExpired}
	return all[g.later.IntN(len(all))], g.later.IntN(1 << (2 * maxPattern))
}

// injectFaults adds one to three faults, and mostly a request that has them.
func (g *generator) injectFaults() {
	target := ""
	for range pick(g, 1, 1, 2, 2, 3) {
		f := g.faults[g.IntN(len(g.faults))]
		g.add(step{Op: opFault, Fault: &f})
		target = f.Target
	}
	if g.chance(0.75) {
		g.reach(target)
	}
}

// reach adds steps that lead to a request, mostly of a kind.
func (g *generator) reach(target string) {
	g.add(step{Op: opClose})
	switch target {
	case targetList, targetPage: // the watch cannot be resumed
		g.step(opPut)
		g.add(step{Op: opCompact})
	case targetProbe:
		g.add(step{Op: opAdvance, For: 3 * time.Minute})
	}
	if g.chance(0.5) {
		g.add(step{Op: opAdvance, For: pick(g, time.Second, 20*time.Second, time.Minute)})
	}
}

// bad returns what fails for a new state: mostly nothing.
func (g *generator) bad() string {
	switch {
	case g.program.Options.Wire != "" && g.chance(0.1):
		return pick(g, badBytes, badLarge)
	case !g.program.Options.Functions || g.chance(0.7):
		return ""
	case g.blocking && g.program.Options.Wire != "" && g.chance(0.2):
		return pick(g, exitingStates...)
	case g.blocking && g.program.Options.Wire == "" && g.chance(0.4):
		return pick(g, slices.Concat(blockingStates, exitingStates)...)
	}
	return pick(g, badStates...)
}

func (g *generator) handler() *handlerSpec {
	h := &handlerSpec{Kind: pick(g, kindEvent, kindFilter), Pace: pick(g, paceFast, paceFast, paceSlow, paceBlock, pacePanic, paceExit), Every: 1 + g.IntN(4)}
	if !g.program.Options.Adapter {
		h.Kind = pick(g, kindEvent, kindBatch, kindKey, kindFilter)
	}
	if h.Kind != kindKey {
		h.EveryEvent = pick(g, false, true)
	}
	if g.chance(0.2) {
		h.Resync = pick(g, 15*time.Second, time.Minute)
	}
	h.WithoutOld = !g.program.Options.Adapter && h.Kind != kindFilter && g.chance(0.2)
	return h
}

// forReference returns a program for client-go's informer, in which no function blocks or ends its
// goroutine: it holds a mutex meanwhile, for which the time of a bubble stops.
func forReference(p program) program {
	p.Options.Reference, p.Options.Omit, p.Options.Served = true, false, false
	makeGood(slices.Concat(blockingStates, exitingStates)...)(&p)
	return p
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func pick[V any](g *generator, values ...V) V { return values[g.IntN(len(values))] }
