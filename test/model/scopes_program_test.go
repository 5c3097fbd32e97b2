// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"

	"github.com/kinformer/kinformer/cache"
)

// scopedProgram is a program for an informer over scopes.
type scopedProgram struct {
	Family     string // of scopes, see scopeFamilies
	Adapter    bool   `json:",omitempty"` // the informer is of package clientgo
	Writes     bool   `json:",omitempty"` // with Adapter: the program writes into the store
	Early      bool   `json:",omitempty"` // with Writes: the first writes are before Run
	Partial    bool   `json:",omitempty"` // without Adapter: the objects are partialConfigMaps
	Packed     bool
	ShareEqual bool   `json:",omitempty"`
	Omit       bool   `json:",omitempty"` // managedFields
	Filter     bool   // not the objects whose value is a multiple of three
	Bad        bool   // some states cannot be stored
	Wire       string `json:",omitempty"` // over HTTP, in this format: JSON or protobuf
	// VersionBase is added to all versions; see versionBases.
	VersionBase string `json:",omitempty"`
	Served      bool   `json:",omitempty"` // the resource comes and goes
	Pending     bool   `json:",omitempty"` // with Served: that is not known at first
	// How scopes are listed.
	WatchList bool  `json:",omitempty"`
	PageSize  int64 `json:",omitempty"`
	Gate      bool  // the server knows shard selectors at first
	Start     []int // of the family
	Steps     []scopedStep
}

// scopedStep is one step of a scopedProgram. Which fields count depends on Op.
type scopedStep struct {
	Op     string
	Key    string        `json:",omitempty"`
	Env    string        `json:",omitempty"`
	Bad    string        `json:",omitempty"` // see badStates
	Write  string        `json:",omitempty"` // into the store: writeServerState, ...
	Fault  string        `json:",omitempty"` // of requestErrors, streamErrors, ...
	Scopes []int         `json:",omitempty"` // of the family
	Lane   int           `json:",omitempty"` // of the requests concerned
	N      int           `json:",omitempty"`
	For    time.Duration `json:",omitempty"`
	NoWait bool          `json:",omitempty"` // the next step follows at once
	// Overtake and Pattern are those of a step.
	Overtake string `json:",omitempty"`
	Pattern  int    `json:",omitempty"`
	Verdict  string `json:",omitempty"` // of opVerdict, as that of a step
}

func (p scopedProgram) String() string { return mustJSON(p) }

// Further values of scopedStep.Op.
const (
	opScopesAdd    = "add scopes"
	opScopesRemove = "remove scopes"
	opScopesSet    = "set scopes"
	opFailList     = "fail lists"   // the next N of a lane, with Fault
	opFailWatch    = "fail watches" // the next N of a lane, with Fault
	opMisbehave    = "misbehave"    // the open watches of a lane have Fault
	opGate         = "switch the gate"
	opTruncate     = "truncate the watch cache"
	// Of the family selectedNamespaces, in place of those of scopes.
	opSelectNamespace = "select namespace" // creates or relabels it; Key is its name
	opIgnoreNamespace = "ignore namespace"
	opDeleteNamespace = "delete namespace" // after its objects
)

// selectedNamespaces is the family of the scopes of NamespaceScopes: those of the namespaces that a
// label selects.
const selectedNamespaces = "selected namespaces"

// namespaceOperations are what operations on scopes are if the scopes are those of namespaces.
var namespaceOperations = map[string]string{
	opScopesAdd: opSelectNamespace, opScopesRemove: opIgnoreNamespace, opScopesSet: opDeleteNamespace,
}

// lanes is the number of groups of requests that lag and fail on their own. The scopes of a request
// determine its lane.
const lanes = 3

// scopedKeys are few, so that the same key is often met in several scopes.
var scopedKeys = []string{"a/x", "a/y", "b/x", "c/z"}

var environments = []string{"dev", "prod", "test", ""}

// hashes returns the scope of some sixteenths of all hashes.
func hashes(field cache.HashField, first, end uint64) cache.Scope {
	last := uint64(math.MaxUint64)
	if end < 16 {
		last = end<<60 - 1
	}
	return cache.Scope{Hash: cache.HashRange{Field: field, First: first << 60, Last: last}}
}

func hashFamily(field cache.HashField) (family []cache.Scope) {
	for _, ends := range [][2]uint64{{0, 4}, {4, 8}, {8, 12}, {12, 16}, {0, 8}, {8, 16}, {0, 16}, {2, 6}, {6, 8}, {14, 16}} {
		family = append(family, hashes(field, ends[0], ends[1]))
	}
	return family
}

func withSelector(s cache.Scope, namespace, labels string) cache.Scope {
	s.Namespace, s.LabelSelector = namespace, labels
	return s
}

// scopeFamilies are the scopes that a program adds and removes. A set may have some scopes of a
// family beside each other, and refuses others; see mayBeBeside.
func scopeFamilies() map[string][]cache.Scope {
	low, high := hashes(cache.HashUID, 0, 8), hashes(cache.HashUID, 8, 16)
	return map[string][]cache.Scope{
		"namespaces":       {{Namespace: "a"}, {Namespace: "b"}, {Namespace: "c"}, {}},
		selectedNamespaces: {{Namespace: "a"}, {Namespace: "b"}, {Namespace: "c"}},
		"labels": {
			{Namespace: "a", LabelSelector: "env=dev"}, {Namespace: "b", LabelSelector: "env=prod"}, {Namespace: "c", LabelSelector: "env in (dev,test)"},
			{Namespace: "a", LabelSelector: "env notin (dev,prod)"}, {Namespace: "b", LabelSelector: "!env"}, {Namespace: "c"}, {LabelSelector: "env=dev"},
		},
		"names": {
			{Namespace: "a", FieldSelector: "metadata.name=x"}, {Namespace: "a", FieldSelector: "metadata.name=y"}, {Namespace: "b", FieldSelector: "metadata.name=x"},
			{FieldSelector: "metadata.name=z"}, {FieldSelector: "metadata.name=x,metadata.namespace=b"}, {Namespace: "a", FieldSelector: "metadata.name=w"},
			{Namespace: "a"}, {FieldSelector: "metadata.name=x"}, {Namespace: "c", FieldSelector: "metadata.name!=z"},
		},
		"hashes":           hashFamily(cache.HashUID),
		"namespace hashes": hashFamily(cache.HashNamespace),
		"mixed": {
			withSelector(low, "a", ""), withSelector(high, "a", ""), withSelector(low, "b", "env=dev"), withSelector(high, "b", "env=dev"), {Namespace: "c"},
			withSelector(low, "", "env=dev"), withSelector(high, "", "env=dev"), withSelector(hashes(cache.HashUID, 4, 8), "a", ""),
			withSelector(high, "a", "env=dev"), {Namespace: "b"}, {Namespace: "c", FieldSelector: "metadata.name=z"}, hashes(cache.HashNamespace, 0, 8),
		},
	}
}

// scopedOperations are the weights of operations.
var scopedOperations = map[string]int{
	opPut: 12, opDelete: 5, opRecreate: 4, opAdvance: 8, opScopesAdd: 3, opScopesRemove: 3, opScopesSet: 3, opClose: 3, opCompact: 3,
	opLag: 3, opCatchUp: 3, opFailList: 2, opFailWatch: 2, opMisbehave: 2, opGate: 1, opTruncate: 2, opAdd: 1, opUnblock: 1, opBookmark: 3, opSkip: 1, opHeal: 1, opRestore: 2, opQuiesce: 1,
	opWrite: 8, opErase: 2, opReplace: 1,
}

func (p scopedProgram) weighted() (operations []string) {
	for _, op := range sortedKeys(scopedOperations) {
		if !p.Writes && (op == opWrite || op == opErase || op == opReplace) {
			continue
		}
		for range scopedOperations[op] {
			operations = append(operations, op)
		}
	}
	for _, op := range sortedKeys(servedOperations) {
		for range servedOperations[op] {
			if p.Served {
				operations = append(operations, op)
			}
		}
	}
	return operations
}

// requestFaults returns the faults that lists or watches may have.
func (p scopedProgram) requestFaults(op string) (kinds []string) {
	for _, kind := range sortedKeys(requestErrors) {
		if kind == "403" && p.Family == selectedNamespaces { // the scope ends
			continue
		}
		kinds = append(kinds, kind)
	}
	if op == opFailList {
		kinds = append(kinds, faultLate, faultLate, faultLate)
	}
	return kinds
}

// streamFaults returns the faults that an open watch may have. Over HTTP, an event has an object.
func (p scopedProgram) streamFaults() []string {
	kinds := []string{faultReplay, faultDuplicate, faultOldBookmark}
	for _, kind := range sortedKeys(streamErrors) {
		if streamErrors[kind].Type == watch.Error || p.Wire == "" && kind != faultNoMetadata {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// drawScoped draws a program.
func drawScoped(t *rapid.T) scopedProgram {
	families := scopeFamilies()
	p := scopedProgram{
		Family: rapid.SampledFrom(sortedKeys(families)).Draw(t, "family"), Packed: rapid.Bool().Draw(t, "packed"), Filter: rapid.Bool().Draw(t, "filter"),
		Gate: rapid.Bool().Draw(t, "gate"), Bad: rapid.Bool().Draw(t, "bad"),
		WatchList: rapid.SampledFrom([]bool{false, true}).Draw(t, "WatchList"),
		PageSize:  rapid.SampledFrom([]int64{0, 0, 1, 2, -1}).Draw(t, "page size"),
		Wire:      rapid.SampledFrom([]string{"", "", "", "", "JSON", "protobuf"}).Draw(t, "wire"),
	}
	p.ShareEqual = rapid.IntRange(0, 4).Draw(t, "share equal") == 4
	p.Omit = rapid.Bool().Draw(t, "omit")
	p.Adapter = drawEvenly(t, []bool{false, false, true}, "adapter")
	p.Partial = !p.Adapter && rapid.IntRange(0, 2).Draw(t, "partial") == 2
	p.Writes = *storeWrites && p.Adapter && drawEvenly(t, []bool{false, true}, "writes")
	p.Early = p.Writes && rapid.IntRange(0, 2).Draw(t, "early") == 2
	if *largeVersions && rapid.IntRange(0, 2).Draw(t, "large versions") == 2 {
		p.VersionBase = rapid.SampledFrom(versionBases).Draw(t, "version base")
	}
	p.Served = *servedResources && (!p.Adapter || p.Wire != "") && rapid.IntRange(0, 2).Draw(t, "served") == 2
	p.Pending = p.Served && rapid.IntRange(0, 2).Draw(t, "pending") == 2
	subset := rapid.Custom(p.drawScopes)
	p.Start = subset.Draw(t, "start")
	least := rapid.SampledFrom([]int{1, 1, 10, 20}).Draw(t, "least number of steps") // most slices are short
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) scopedStep { return p.drawStep(t, subset) }), least, 40)
	p.Steps = steps.Draw(t, "steps")
	return p
}

// drawEvenly draws one of several values. rapid.SampledFrom prefers the first ones.
func drawEvenly[T any](t *rapid.T, values []T, label string) T {
	hash := fnv.New32a()
	_ = binary.Write(hash, binary.LittleEndian, rapid.Uint32().Draw(t, label))
	return values[hash.Sum32()%uint32(len(values))] //nolint:gosec // few values
}

// drawScopes draws up to four scopes of the family. In most cases a set may have all of them.
func (p scopedProgram) drawScopes(t *rapid.T) (numbers []int) {
	family := scopeFamilies()[p.Family]
	all := rapid.SliceOfNDistinct(rapid.IntRange(0, len(family)-1), 0, min(4, len(family)), rapid.ID).Draw(t, "scopes")
	if rapid.IntRange(0, 3).Draw(t, "any scopes") == 3 {
		return all
	}
	for _, n := range all {
		if mayHave(canonical(p.scopesOf(append(numbers, n)))) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// badStates returns what may be bad about a state: half of them nothing.
func (p scopedProgram) badStates() []string {
	if !p.Bad {
		return []string{""}
	}
	bad := []string{badTransform, badPanic, badSkip, badIndex}
	if p.Filter {
		bad = append(bad, badFilter, badFilter)
	}
	if p.Wire != "" {
		bad = append(bad, badBytes, badBytes)
	}
	return append(make([]string, len(bad)), bad...)
}

func (p scopedProgram) drawStep(t *rapid.T, subset *rapid.Generator[[]int]) scopedStep {
	s := scopedStep{Op: drawEvenly(t, p.weighted(), "op"), NoWait: rapid.IntRange(0, 3).Draw(t, "no wait") == 3}
	if op, ok := namespaceOperations[s.Op]; ok && p.Family == selectedNamespaces {
		s.Op, s.Key = op, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "namespace")
		return s
	}
	switch s.Op {
	case opPut, opDelete, opRecreate:
		s.Key, s.Env = rapid.SampledFrom(scopedKeys).Draw(t, "key"), rapid.SampledFrom(environments).Draw(t, "env")
		s.Bad = rapid.SampledFrom(p.badStates()).Draw(t, "bad state")
	case opWrite, opErase, opReplace:
		s.Key, s.Env = rapid.SampledFrom(append(scopedKeys, ownKeys...)).Draw(t, "key"), rapid.SampledFrom(environments).Draw(t, "env")
		s.Write = rapid.SampledFrom([]string{writeServerState, writeChangedCopy, writeWithoutUID, writeOwnUID}).Draw(t, "write")
		s.N = rapid.IntRange(0, 2).Draw(t, "n")
	case opScopesAdd, opScopesRemove, opScopesSet:
		s.Scopes = subset.Draw(t, "scopes")
	case opLag, opCatchUp, opClose:
		s.Lane = rapid.IntRange(0, lanes-1).Draw(t, "lane")
	case opFailList, opFailWatch:
		s.Lane, s.N = rapid.IntRange(0, lanes-1).Draw(t, "lane"), rapid.IntRange(1, 3).Draw(t, "n")
		s.Fault = rapid.SampledFrom(p.requestFaults(s.Op)).Draw(t, "fault")
	case opMisbehave:
		s.Lane = rapid.IntRange(0, lanes-1).Draw(t, "lane")
		s.Fault = rapid.SampledFrom(p.streamFaults()).Draw(t, "fault")
	case opAdd:
		s.N = rapid.IntRange(0, 1).Draw(t, "blocks")
	case opSkip:
		s.N = rapid.IntRange(1, 5).Draw(t, "n")
	case opRestore:
		s.N = rapid.IntRange(1, 5).Draw(t, "n")
		s.Overtake = rapid.SampledFrom([]string{"", overtakeLive, overtakeLive, overtakeRestarted, overtakeExpired}).Draw(t, "overtake")
		s.Pattern = rapid.IntRange(0, 1<<(2*maxPattern)-1).Draw(t, "pattern")
	case opVerdict:
		s.Verdict = p.drawVerdict(t)
	case opAdvance:
		s.For = rapid.SampledFrom([]time.Duration{time.Millisecond, 2 * time.Second, 20 * time.Second, time.Minute, 4 * time.Minute}).Draw(t, "for")
	}
	return s
}

// scopesOf returns the scopes of a family.
func (p scopedProgram) scopesOf(numbers []int) (scopes []cache.Scope) {
	family := scopeFamilies()[p.Family]
	for _, n := range numbers {
		scopes = append(scopes, family[n])
	}
	return scopes
}

func (s scopedStep) String() string { return fmt.Sprintf("%s %s", s.Op, mustJSON(s)) }
