// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// startSharded runs an informer of one ConfigMap over the scopes of a member.
func startSharded(t *testing.T, m *Member) *cache.SharedInformer[*corev1.ConfigMap] {
	t.Helper()
	objects := fake.NewListerWatcher(&corev1.ConfigMap{})
	objects.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a"}})
	informer := cache.NewSharedInformer(objects, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: m.Scopes()})
	runInformer(t, informer)
	return informer
}

// runInformer runs an informer until the test ends.
func runInformer[T cache.Object](t *testing.T, informer *cache.SharedInformer[T]) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- informer.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// expectUnassigned checks that an informer has not synced because its member has no assignment, and
// names a cause.
func expectUnassigned(t *testing.T, informer *cache.SharedInformer[*corev1.ConfigMap], cause string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := informer.WaitForSync(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no assignment yet") || !strings.Contains(err.Error(), cause) {
		t.Errorf("WaitForSync: %v", err)
	}
	if err := informer.HealthCheck(cache.HealthOptions{})(nil); err == nil || !strings.Contains(err.Error(), "no assignment yet") {
		t.Errorf("HealthCheck: %v", err)
	}
	if s := informer.Status(); informer.HasSynced() || s.Synced || s.Phase != cache.PhaseListing || !s.Freshness.FreshAt.IsZero() || s.ErrSince.IsZero() {
		t.Errorf("HasSynced %v, status %+v", informer.HasSynced(), s)
	}
}

func expectSynced(t *testing.T, informer *cache.SharedInformer[*corev1.ConfigMap], objects int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := informer.WaitForSync(ctx); err != nil {
		t.Error(err)
	}
	if s := informer.Status(); s.Store.Objects != objects || s.Err != nil {
		t.Errorf("synced with %d objects, want %d; error %v", s.Store.Objects, objects, s.Err)
	}
}

// An informer whose member does not run yet must not tell the program that there are no objects.
func TestInformerSyncsAfterFirstAssignment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMember(t, newLeaseServer(), "a")
		informer := startSharded(t, m)
		expectUnassigned(t, informer, "")
		<-time.After(24 * time.Hour)
		expectUnassigned(t, informer, "")
		runMember(t.Context(), t, m)
		expectSynced(t, informer, 1)
	})
}

// A member of a group with more members than slots is assigned none.
func TestAssignmentOfNoSlotsCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newLeaseServer()
		for _, member := range []struct {
			identity string
			objects  int
		}{{"a", 1}, {"b", 0}} {
			m := newTestMember(t, leases, member.identity, withSlots(1))
			runMember(t.Context(), t, m)
			expectSynced(t, startSharded(t, m), member.objects)
		}
	})
}

// A member that may not take slots has no assignment, not one of no slots. The cause reaches the
// informer.
func TestFailingAssignmentIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestMember(t, refuseSlots(), "a")
		informer := startSharded(t, m)
		runMember(t.Context(), t, m)
		<-time.After(time.Hour)
		expectUnassigned(t, informer, "take a slot")
	})
}

// Another group's options are the cause that an informer reports although its member has returned.
func TestGroupMismatchIsReportedAsMissingAssignment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newLeaseServer()
		startReplica(t, leases, "a")
		synctest.Wait()
		m := newTestMember(t, leases, "b", withSlots(64))
		informer := startSharded(t, m)
		if err := m.Run(t.Context()); !errors.Is(err, ErrGroupMismatch) {
			t.Fatal(err)
		}
		expectUnassigned(t, informer, ErrGroupMismatch.Error())
	})
}

// TestMembersDividePartialObjects runs the informers of two members, which hold some fields of the
// ConfigMaps of their slots.
func TestMembersDividePartialObjects(t *testing.T) {
	type object = cache.PartialObject[*corev1.ConfigMap, struct {
		Data map[string]string `json:"data"`
	}]
	for name, packed := range map[string]bool{"live": false, "packed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leases, objects := newLeaseServer(), fake.NewListerWatcher(&corev1.ConfigMap{})
				for n := range 40 {
					name := fmt.Sprint("item-", n)
					objects.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}, Data: map[string]string{"name": name}})
				}
				members := []replica{startReplica(t, leases, "a"), startReplica(t, leases, "b")}
				var informers []*cache.SharedInformer[*object]
				for _, m := range members {
					informer := cache.NewSharedInformer(objects, &object{}, cache.InformerOptions[*object]{Scopes: m.Scopes(), Packed: packed})
					runInformer(t, informer)
					informers = append(informers, informer)
				}
				<-time.After(10 * time.Second)
				synctest.Wait()
				for i, informer := range informers {
					held := informer.Store().List()
					if others := informers[1-i].Store().Len(); len(held) == 0 || len(held)+others != 40 {
						t.Errorf("%d objects held here and %d by the other member, want 40 in all", len(held), others)
					}
					for _, obj := range held {
						if _, ok := members[i].Slot(obj); !ok || obj.Fields.Data["name"] != obj.Name {
							t.Errorf("%s: in a slot of the member %v, data %v", obj.Name, ok, obj.Fields.Data)
						}
					}
				}
			})
		})
	}
}
