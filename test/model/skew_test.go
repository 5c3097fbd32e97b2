// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/reflector"
)

// What a newer API server shows of every other state, and an older one does not.
const (
	addedLabel  = "added"
	addedPolicy = corev1.RestartPolicyAlways
)

// show returns the Pod of a state as a replica shows it: if the replicas are of two minor versions,
// every other one is newer.
func (s *server) show(replica int, shown state) *corev1.Pod {
	pod := podOf(shown)
	if !s.skewed || replica%2 == 0 || shown.value%2 == 0 {
		return pod
	}
	metav1.SetMetaDataLabel(&pod.ObjectMeta, addedLabel, "")
	pod.Spec.RestartPolicy = addedPolicy
	return pod
}

// restart ends all watches. The API servers come back without the changes that they had, while a
// load balancer refuses the next requests of each kind.
func (s *server) restart(refused int) {
	s.closeStreams()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.replicas {
		s.replicas[i].compact = s.headOf(i)
	}
	if refused > 0 {
		for _, target := range []string{targetWatch, targetList} {
			s.faults = append(s.faults, fault{Kind: "refused", Target: target, Times: refused})
		}
	}
}

// lateness is how long a watch with faultSilent sends nothing.
const lateness = 8 * time.Second

// addSkew lets the replicas be of two minor versions, or restart, or be late to send the first
// events of watches.
func addSkew(p *program, rand *rand.Rand) {
	o := &p.Options
	if rand.IntN(2) == 0 {
		o.Skewed, o.Replicas = true, max(2, o.Replicas)
	}
	for range 2 + rand.IntN(8) {
		steps := [][]step{
			{{Op: opSwitch, N: rand.IntN(o.Replicas)}, {Op: opClose}},
			{{Op: opSwitch, N: rand.IntN(o.Replicas)}, {Op: opRestart, N: rand.IntN(4)}},
			{{Op: opFault, Fault: &fault{Kind: faultSilent, Target: targetWatch, Times: 1 + rand.IntN(3)}}, {Op: opClose}},
			{{Op: opSwitch, N: rand.IntN(o.Replicas)}, {Op: opCompact}, {Op: opClose}},
			{{Op: opAdvance, For: []time.Duration{10 * time.Second, 3 * time.Minute, 20 * time.Minute}[rand.IntN(3)]}},
		}[rand.IntN(5)]
		p.Steps = slices.Insert(p.Steps, rand.IntN(len(p.Steps)+1), steps...)
	}
}

// deceives are faults that show an informer another history than the server's.
var deceives = []string{faultReplay, faultDuplicate, faultOldBookmark, faultLag, faultNoVersion, "unknown event", faultNoMetadata, "object of another kind", "504 too large", "504 too large in stream"}

// isDeceived reports whether an informer may have been shown two histories: by a restore, by a
// fault, or because the resource is not always served.
func (x *execution) isDeceived() bool {
	return x.program.Options.Served || slices.ContainsFunc(x.program.Steps, func(s step) bool {
		return s.Op == opRestore || s.Fault != nil && slices.Contains(deceives, s.Fault.Kind)
	})
}

// checkEvidence checks that servers which share one history were not taken for ones that do not,
// whatever they show of it, and however late.
func (x *execution) checkEvidence() {
	if x.program.Options.Reference || x.isDeceived() {
		return
	}
	x.checked("evidence")
	status := x.subject.Status()
	if n := status.Requests.Relists[string(reflector.RelistHistoryChanged)]; n > 0 {
		x.fail("evidence", "%d lists because the history has changed", n)
	}
	if n := x.server.unexplained; n > 0 {
		x.fail("evidence", "%d consistent reads although no list had failed", n)
	}
}

// mayShowOther reports whether a state may be delivered again because another server shows it
// otherwise: a consistent read compares the contents of objects whose managedFields are not kept.
func (x *execution) mayShowOther() bool {
	o := x.program.Options
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	return o.Skewed && (o.Omit || o.Partial) && x.server.consistent > 0
}
