// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/json"
	"time"
)

// program is what a seed stands for. Running it makes no other choice, so that its parts can be
// removed one by one.
type program struct {
	Options options
	Steps   []step
}

// options are those of the informer and of the server.
type options struct {
	Adapter       bool          `json:",omitempty"` // of package clientgo
	Reference     bool          `json:",omitempty"` // client-go's informer, not this module's; Adapter is set too
	Idempotent    bool          `json:",omitempty"` // with Reference: Transform may be called several times for an object
	SameUID       bool          `json:",omitempty"` // with Reference: an object keeps its UID when it is recreated
	RelistUpdates bool          `json:",omitempty"` // of the adapter
	Coalesce      bool          `json:",omitempty"` // CoalesceWhenBehind of the adapter
	Partial       bool          `json:",omitempty"` // not the adapter: a PartialObject of Pods
	Packed        bool          `json:",omitempty"`
	ShareEqual    bool          `json:",omitempty"`
	Omit          bool          `json:",omitempty"` // managedFields
	Resync        time.Duration `json:",omitempty"`
	WatchList     bool          `json:",omitempty"`
	PageSize      int64         `json:",omitempty"`
	Functions     bool          `json:",omitempty"` // Filter and index function that may fail, and Transform
	NoTransform   bool          `json:",omitempty"` // without Functions: the store may keep the bytes of the wire
	Report        string        `json:",omitempty"` // what the ErrorHandler does: reportPanics, ...
	ReportAt      int           `json:",omitempty"` // in which call
	Start         uint64        // the first version of the server
	Bookmarks     time.Duration `json:",omitempty"` // how often the server sends them
	Replicas      int           `json:",omitempty"` // the number of API servers, at least one
	Procs         int           `json:",omitempty"` // GOMAXPROCS, as it is if zero
	Wire          string        `json:",omitempty"` // over HTTP, in this format: JSON or protobuf
	HTTP2         bool          `json:",omitempty"`
	Gzip          bool          `json:",omitempty"` // of lists
	NoMatch       bool          `json:",omitempty"` // the server refuses lists with resourceVersionMatch
	VersionBase   string        `json:",omitempty"` // is added to all versions; see versionBases
	Served        bool          `json:",omitempty"` // the informer follows whether the resource is served
	Pending       bool          `json:",omitempty"` // with Served: that is not known at first
	Skewed        bool          `json:",omitempty"` // the replicas are of two minor versions
}

// Values of options.Report.
const (
	reportPanics = "panics"
	reportBlocks = "blocks"
	reportExits  = "exits" // ends its goroutine
)

// step is one step of a program. Which fields count depends on Op.
type step struct {
	Op      string
	Key     string        `json:",omitempty"`
	N       int           `json:",omitempty"`
	Bad     string        `json:",omitempty"`
	For     time.Duration `json:",omitempty"`
	Fault   *fault        `json:",omitempty"`
	Handler *handlerSpec  `json:",omitempty"`
	// Overtake says how the versions of a restored server pass those of the lost history before the
	// next request, and Pattern with which writes. Without it, they stay below until the informer
	// has noticed the restore.
	Overtake string `json:",omitempty"`
	Pattern  int    `json:",omitempty"`
	Verdict  string `json:",omitempty"` // of opVerdict: verdictUnknown, ...; that of the truth if empty
	// NoWait lets the next step follow while goroutines of the informer still work on this one.
	NoWait bool `json:",omitempty"`
}

// Values of step.Op.
const (
	opPut      = "put"      // creates or updates Key, N times
	opDelete   = "delete"   // deletes Key
	opRecreate = "recreate" // deletes Key and creates it
	opFlood    = "flood"    // writes N times, more than a blocked handler keeps one by one
	opSkip     = "skip"     // advances the version by N, as writes to other collections
	opCompact  = "compact"  // the history of etcd and of all replicas; if N is not 0, of the Nth replica only
	opRestore  = "restore"  // undoes the last N changes
	opBookmark = "bookmark"
	opClose    = "close"    // closes all watches
	opSwitch   = "switch"   // further requests go to the Nth replica
	opLag      = "lag"      // the Nth replica receives no changes
	opCatchUp  = "catch up" // the Nth replica receives them again
	opFault    = "fault"
	opRestart  = "restart" // of the API servers, after which the next N requests of each kind are refused
	opHeal     = "heal"    // ends all faults, and lets all replicas catch up
	opAdvance  = "advance"
	opAdd      = "add handler"
	opRemove   = "remove handler" // the Nth
	opUnblock  = "unblock handler"
	opRelease  = "release functions" // ends the calls of Transform, Filter, ... that block
	opWait     = "wait"              // until the store has seen the last write
	opWaitSync = "wait for sync"
	opRead     = "read"     // reads N times in a goroutine of its own
	opHold     = "hold"     // takes a snapshot and reads it again after each later step
	opRun      = "run"      // a second time, it is an error
	opUnserve  = "unserve"  // the servers that do not lag answer 404
	opUndefine = "undefine" // the same, and all objects are deleted
	opDefine   = "define"   // the resource is served again
	opVerdict  = "verdict"  // the informer receives a verdict
	opStop     = "stop"
	opQuiesce  = "quiesce" // ends all faults and waits until the store is equal to the server
)

// Values of step.Overtake: from which version on the API servers have changes.
const (
	overtakeLive      = "live"      // all that etcd has
	overtakeRestarted = "restarted" // since the restored version, as servers that restarted with etcd
	overtakeExpired   = "expired"   // none before the last one: the informer's watch is 410
)

// handlerSpec is the kind and the pace of a handler.
type handlerSpec struct {
	Kind       string        // kindEvent, ...
	Pace       string        // paceFast, ...
	Every      int           `json:",omitempty"` // which calls are slow, block, panic or end their goroutine
	Resync     time.Duration `json:",omitempty"`
	EveryEvent bool          `json:",omitempty"`
	WithoutOld bool          `json:",omitempty"`
}

// Kinds and paces of handlers.
const (
	kindEvent  = "event"
	kindBatch  = "batch"
	kindKey    = "key"
	kindFilter = "filtering" // FilteringResourceEventHandler

	paceFast  = "fast"
	paceSlow  = "slow"
	paceBlock = "block"
	pacePanic = "panic"
	paceExit  = "exit" // ends its goroutine
)

// coalesces reports whether the handler's backlog is bounded.
func (h handlerSpec) coalesces(o options) bool {
	if o.Adapter {
		return o.Coalesce
	}
	return !h.EveryEvent
}

var keys = []string{"a/x", "a/y", "b/x", "b/y", "c/z"}

// String describes a step in a timeline.
func (s step) String() string { return mustJSON(s) }

// mustJSON returns a program, or a part of one, as JSON.
func mustJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
