// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/e2e/cluster"
)

// TestInformerSurvivesServerRestarts stops or kills a server during a watch and starts it again,
// while the writer makes changes: before, as soon as the server responds again, and during the
// crash.
func TestInformerSurvivesServerRestarts(t *testing.T) {
	t.Parallel()
	pods := newPodCollection(t, cluster.New(t, cluster.Options{}), 60)
	subjects := startSubjects(t, pods.cluster, &corev1.Pod{}, pods.list)
	awaitListed(t, subjects)
	for name, server := range map[string]*cluster.Server{"kube-apiserver": pods.cluster.APIServer(), "etcd": pods.cluster.Etcd()} {
		for how, end := range map[string]func(*cluster.Server) error{"stopped": (*cluster.Server).Stop, "killed": (*cluster.Server).Kill} {
			t.Run(name+" "+how, func(t *testing.T) {
				pods.write(t, 200)
				var back time.Time
				pods.writeDuring(t, func() {
					if err := end(server); err != nil {
						t.Error(err)
					}
					if err := server.Start(t.Context()); err != nil {
						t.Error(err)
					}
					back = time.Now()
				}, 200)
				expectAllSettled(t, subjects, pods.truth, func(t *testing.T, s *subject) {
					expectSubsequence(t, s.recorder, pods.ledger)
					if s.controller != nil && s.controller.Status().Freshness.FreshAt.Before(back) {
						t.Errorf("FreshAt is %v, want a time after %v, when the server was back", s.controller.Status().Freshness.FreshAt, back)
					}
				})
			})
		}
	}
	objects, changes := pods.ledger.size()
	t.Logf("%d Pods, %d changes", objects, changes)
}
