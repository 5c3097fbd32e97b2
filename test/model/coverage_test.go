// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"reflect"
	"strings"
)

// enoughPrograms is the number of programs in which everything must have happened.
const enoughPrograms = 5000

// operations are all values of step.Op.
var operations = []string{
	opPut, opDelete, opRecreate, opFlood, opSkip, opCompact, opRestore, opBookmark, opClose, opSwitch, opLag, opCatchUp, opRestart, opFault, opHeal, opAdvance,
	opAdd, opRemove, opUnblock, opRelease, opWait, opWaitSync, opRead, opHold, opRun, opStop, opQuiesce,
	opUnserve, opUndefine, opDefine, opVerdict,
}

// events are what must happen in some programs, apart from what they consist of.
var events = []string{
	"flood of a blocked handler", "event coalesced", "Run returns while a handler blocks", "Run returns while a function blocks", "restore noticed", "absence of listed", "absence of unlisted",
	"overtaken " + overtakeLive, "overtaken " + overtakeRestarted, "overtaken " + overtakeExpired,
}

// referenceOptions are options that only programs for client-go's informer have.
var referenceOptions = map[string]bool{"Reference": true, "Idempotent": true, "SameUID": true}

// expected returns everything that programs must have: in summary.met, and in summary.faults.
func expected() (met, faults []string) {
	for _, op := range operations {
		met = append(met, "operation "+op)
	}
	for _, kind := range []string{kindEvent, kindBatch, kindKey, kindFilter} {
		met = append(met, "handler "+kind)
	}
	for _, pace := range []string{paceFast, paceSlow, paceBlock, pacePanic, paceExit} {
		met = append(met, "pace "+pace)
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[options]()) {
		if !referenceOptions[field.Name] {
			met = append(met, "option "+field.Name)
		}
	}
	for _, bad := range append(badStates, blockingStates...) {
		met = append(met, "state "+bad)
	}
	for target, kinds := range faultKinds {
		for _, kind := range kinds {
			faults = append(faults, fault{Target: target, Kind: kind}.id(), fault{Target: target, Kind: kind, Times: -1}.id())
		}
	}
	faults = append(faults, fault{Target: targetWatch, Kind: faultSilent}.id())
	return append(met, events...), faults
}

// missing returns what no program has had. Faults of pages and of probes are rare: each need not be
// one that lasts forever, too.
func (s *summary) missing() (missing []string) {
	met, faults := expected()
	for _, what := range met {
		if s.met[what] == 0 {
			missing = append(missing, what)
		}
	}
	for _, id := range faults {
		other, lasts := strings.CutSuffix(id, lasting)
		if !lasts {
			other += lasting
		}
		rare := strings.HasPrefix(id, targetPage) || strings.HasPrefix(id, targetProbe)
		if s.faults[id] == 0 && !(rare && s.faults[other] > 0) {
			missing = append(missing, "fault "+id)
		}
	}
	return missing
}
