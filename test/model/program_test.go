package model_test

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// program is what a seed stands for. Running it makes no other choice, so that its steps can be
// removed one by one.
type program struct {
	Options options
	Steps   []step
}

// options are those of the informer and of the server.
type options struct {
	Adapter       bool           `json:",omitempty"` // of package clientgo
	Reference     bool           `json:",omitempty"` // client-go's informer, not this module's; Adapter is set too
	Idempotent    bool           `json:",omitempty"` // with Reference: Transform may be called several times for an object
	SameUID       bool           `json:",omitempty"` // with Reference: an object keeps its UID when it is recreated
	RelistUpdates bool           `json:",omitempty"` // of the adapter
	Packed        bool           `json:",omitempty"`
	ShareEqual    bool           `json:",omitempty"`
	Resync        time.Duration  `json:",omitempty"`
	ListMode      cache.ListMode `json:",omitempty"`
	PageSize      int64          `json:",omitempty"`
	Functions     bool           `json:",omitempty"` // Filter and index function that may fail, and Transform
	Start         uint64         // the first version of the server
	Bookmarks     time.Duration  `json:",omitempty"` // how often the server sends them
}

// step is one step of a program. Which fields count depends on Op.
type step struct {
	Op      string
	Key     string        `json:",omitempty"`
	N       int           `json:",omitempty"`
	Bad     string        `json:",omitempty"`
	For     time.Duration `json:",omitempty"`
	Fault   *fault        `json:",omitempty"`
	Handler *handlerSpec  `json:",omitempty"`
}

// Values of step.Op.
const (
	opPut      = "put"      // creates or updates Key, N times
	opDelete   = "delete"   // deletes Key
	opRecreate = "recreate" // deletes Key and creates it
	opSkip     = "skip"     // advances the version by N, as writes to other collections
	opCompact  = "compact"
	opRestore  = "restore" // undoes the last N changes
	opBookmark = "bookmark"
	opClose    = "close" // closes all watches
	opFault    = "fault"
	opHeal     = "heal" // ends all faults
	opAdvance  = "advance"
	opAdd      = "add handler"
	opRemove   = "remove handler" // the Nth
	opUnblock  = "unblock handler"
	opWait     = "wait" // until the store has seen the last write
	opRun      = "run"
	opStop     = "stop"
	opQuiesce  = "quiesce" // ends all faults and waits until the store is equal to the server
)

// handlerSpec is the kind and the pace of a handler.
type handlerSpec struct {
	Kind     string         // kindEvent, kindBatch or kindKey
	Pace     string         // paceFast, ...
	Every    int            `json:",omitempty"` // which calls are slow, block, panic or end their goroutine
	Resync   time.Duration  `json:",omitempty"`
	Delivery cache.Delivery `json:",omitempty"`
}

// Kinds and paces of handlers.
const (
	kindEvent = "event"
	kindBatch = "batch"
	kindKey   = "key"

	paceFast  = "fast"
	paceSlow  = "slow"
	paceBlock = "block"
	pacePanic = "panic"
	paceExit  = "exit" // ends its goroutine
)

var keys = []string{"a/x", "a/y", "b/x", "b/y", "c/z"}

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
}

func generate(seed uint64) program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	g.program.Options = g.options()
	g.weights = g.operations()
	g.faults = g.swarm()
	g.start()
	for range stepsPerProgram/2 + g.IntN(stepsPerProgram) {
		g.step(g.operation())
	}
	g.end()
	return g.program
}

func (g *generator) options() options {
	o := options{
		Adapter: g.chance(0.3), Packed: g.chance(0.3), ShareEqual: g.chance(0.2),
		ListMode: pick(g, cache.ListModeAuto, cache.ListModeWatchList), PageSize: pick[int64](g, 0, 0, 2, 3, -1),
		Functions: g.chance(0.5),
		Start:     pick[uint64](g, 1, 8, 95, 997, 1<<53-3, 1e18-5),
		Bookmarks: pick(g, 0, time.Minute),
	}
	if g.chance(0.2) {
		o.Resync = pick(g, 20*time.Second, 5*time.Minute)
	}
	if o.Adapter {
		o.RelistUpdates = g.chance(0.3)
	}
	return o
}

// operations returns the weights of a random subset of all operations.
func (g *generator) operations() map[string]int {
	weights := map[string]int{
		opPut: 12, opAdvance: 8, opDelete: 5, opRecreate: 2, opSkip: 2, opCompact: 3, opRestore: 1, opBookmark: 2, opClose: 2, opFault: 6,
		opHeal: 1, opAdd: 2, opRemove: 1, opUnblock: 1, opWait: 2,
	}
	for _, op := range sortedKeys(weights) {
		if op != opPut && op != opAdvance && g.chance(0.3) {
			delete(weights, op)
		}
	}
	return weights
}

// swarm returns the faults that the program may have: one to five. With pages, the collection changes
// between some of them.
func (g *generator) swarm() []fault {
	faults := make([]fault, 1+g.IntN(5))
	for i := range faults {
		target := pick(g, targetList, targetList, targetWatch, targetWatch, targetWatch, targetPage, targetProbe)
		if g.program.Options.PageSize > 0 && i == 0 {
			faults[i] = fault{Kind: pick(g, faultLate, faultSlow), Target: targetPage, Times: pick(g, 1, 2, 6, -1)}
			continue
		}
		faults[i] = fault{Kind: pick(g, faultKinds[target]...), Target: target, Times: pick(g, 1, 1, 2, 3, 6, -1)}
		if target == targetWatch {
			faults[i].After = pick(g, 0, 0, 1, 2, 5)
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

// start adds the steps before the informer runs.
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
	g.add(step{Op: opRun})
}

// end adds the steps at the end. Some programs end while their faults last.
func (g *generator) end() {
	if g.chance(0.8) {
		g.add(step{Op: opQuiesce})
	}
	g.add(step{Op: opStop})
	for range g.IntN(3) {
		g.step(g.operation())
	}
}

func (g *generator) add(s step) { g.program.Steps = append(g.program.Steps, s) }

// step adds a step with an operation.
func (g *generator) step(op string) {
	s := step{Op: op}
	switch op {
	case opPut:
		s.Key, s.N, s.Bad = pick(g, keys...), pick(g, 1, 1, 1, 2, 5), g.bad()
	case opDelete, opRecreate:
		s.Key, s.Bad = pick(g, keys...), g.bad()
	case opSkip:
		s.N = pick(g, 1, 2, 10, 100)
	case opRestore:
		s.N = g.IntN(8)
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
	}
	g.add(s)
}

// injectFaults adds one to three faults, and mostly a request that has them.
func (g *generator) injectFaults() {
	for range pick(g, 1, 1, 1, 2, 2, 3) {
		g.add(step{Op: opFault, Fault: new(g.faults[g.IntN(len(g.faults))])})
	}
	if g.chance(0.6) {
		g.add(step{Op: opClose})
	}
}

// bad returns what fails for a new state: mostly nothing.
func (g *generator) bad() string {
	if !g.program.Options.Functions || g.chance(0.7) {
		return ""
	}
	return pick(g, badStates...)
}

func (g *generator) handler() *handlerSpec {
	h := &handlerSpec{Kind: kindEvent, Pace: pick(g, paceFast, paceFast, paceSlow, paceBlock, pacePanic, paceExit), Every: 1 + g.IntN(4)}
	if !g.program.Options.Adapter {
		h.Kind = pick(g, kindEvent, kindBatch, kindKey)
	}
	if h.Kind != kindKey {
		h.Delivery = pick(g, "", cache.EveryEvent)
	}
	if g.chance(0.2) {
		h.Resync = pick(g, 15*time.Second, time.Minute)
	}
	return h
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func pick[V any](g *generator, values ...V) V { return values[g.IntN(len(values))] }

// String describes a step in a timeline.
func (s step) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}
