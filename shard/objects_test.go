// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/scope"
)

// namesOf returns n names that a format makes of numbers from 1 on.
func namesOf(n int, format string) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf(format, i+1))
	}
	return names
}

// TestNamesThatDifferAtTheEndShareSlots checks what docs/sharding.md and HashField say of hashes of
// names: how many of 32 and of 4,096 slots they are in.
func TestNamesThatDifferAtTheEndShareSlots(t *testing.T) {
	for _, c := range []struct {
		names        []string
		few, largest int // of 32 and 4,096 slots, those with names
	}{
		{namesOf(30, "team-%02d"), 1, 1},
		{namesOf(30, "tenant-%02d"), 1, 2},
		{namesOf(9, "tenant-%d"), 1, 1},
		{namesOf(99, "team-%02d"), 1, 3},
		{namesOf(999, "team-%03d"), 10, 32},
		{namesOf(999, "team-%04d"), 10, 34},
		{namesOf(30, "team-%02d-a"), 22, 30},
		{namesOf(30, "%02d-team"), 17, 30},
	} {
		for slots, want := range map[int]int{32: c.few, maxSlots: c.largest} {
			used := make(map[int]bool)
			for _, name := range c.names {
				used[slotOf(scope.HashOf(name), slots)] = true
			}
			if len(used) != want {
				t.Errorf("%s to %s: in %d of %d slots, want %d", c.names[0], c.names[len(c.names)-1], len(used), slots, want)
			}
		}
	}
}

// counted is a group whose replicas have informers over their scopes.
type counted struct {
	leases  *leaseServer
	objects *fake.ListerWatcher[*corev1.ConfigMap]
	field   cache.HashField
}

// newCounted returns a group with a ConfigMap in each namespace.
func newCounted(field cache.HashField, namespaces ...string) *counted {
	c := &counted{newLeaseServer(), fake.NewListerWatcher(&corev1.ConfigMap{}), field}
	for n, namespace := range namespaces {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: "a", UID: types.UID(fmt.Sprintf("%d-%s", n*7919, namespace))}
		c.objects.Create(&corev1.ConfigMap{ObjectMeta: meta})
	}
	return c
}

// start runs a replica, whose informer lists by lw.
func (c *counted) start(ctx context.Context, t *testing.T, identity string, lw cache.ListerWatcher) *Member {
	t.Helper()
	m := newTestMember(t, c.leases, identity, func(o *Options) { o.HashField = c.field })
	informer := cache.NewSharedInformer(lw, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: m.Scopes()})
	runInformer(t, informer)
	runMember(ctx, t, m)
	return m
}

// objectsOfPeers returns the objects of each peer.
func objectsOfPeers(peers []Peer) map[string]int {
	objects := make(map[string]int)
	for _, peer := range peers {
		objects[peer.Identity] = peer.Objects
	}
	return objects
}

func total(objects map[int]int) (n int) {
	for _, more := range objects {
		n += more
	}
	return n
}

const crowdedLine = "Warning: this member has more than 80 % of the objects of its group"

// TestObjectsOfSlotsAndMembersAreCounted divides objects between three replicas, all of which log.
// A member that has most of ten objects or more says so: always if they are in one slot, and else
// if the slots that it takes, which are random, have them.
func TestObjectsOfSlotsAndMembersAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		field      cache.HashField
		namespaces []string
		slots      int // with objects
	}{
		"late digits":               {cache.HashNamespace, namesOf(30, "team-%02d"), 1},
		"late digits of ten":        {cache.HashNamespace, namesOf(10, "team-%02d"), 1},
		"fewer than ten":            {cache.HashNamespace, namesOf(9, "team-%02d"), 1},
		"late digits, by UID":       {cache.HashUID, namesOf(30, "team-%02d"), 0},
		"digits before a suffix":    {cache.HashNamespace, namesOf(30, "team-%02d-a"), 22},
		"early digits":              {cache.HashNamespace, namesOf(30, "%02d-team"), 17},
		"three digits":              {cache.HashNamespace, namesOf(300, "team-%03d"), 4},
		"late digits of two groups": {cache.HashNamespace, append(namesOf(30, "team-%02d"), namesOf(20, "%02d-team")...), 0},
		"none":                      {cache.HashNamespace, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, lines := collectLines(t, crowdedLine)
				group := newCounted(c.field, c.namespaces...)
				var members []*Member
				for _, identity := range []string{"a", "b", "c"} {
					members = append(members, group.start(ctx, t, identity, group.objects))
				}
				<-time.After(10 * time.Minute)
				all, slots := make(map[string]int), 0
				for _, m := range members {
					s := m.Status()
					all[s.Identity] = total(s.SlotObjects)
					if len(s.SlotObjects) != s.Owned {
						t.Errorf("%s: objects of %d slots, owns %d", s.Identity, len(s.SlotObjects), s.Owned)
					}
					for slot, n := range s.SlotObjects {
						if m.ownedSlot(slot) == nil {
							t.Errorf("%s: objects of slot %d, which it does not own", s.Identity, slot)
						}
						if n > 0 {
							slots++
						}
					}
				}
				for _, m := range members {
					if got := objectsOfPeers(m.Status().Peers); !maps.Equal(got, all) {
						t.Errorf("%s: objects of the peers %v, want %v", m.options.Identity, got, all)
					}
				}
				if sum := all["a"] + all["b"] + all["c"]; sum != len(c.namespaces) {
					t.Errorf("the members have %d of %d objects", sum, len(c.namespaces))
				}
				if c.slots > 0 && slots != c.slots {
					t.Errorf("%d slots have objects, want %d", slots, c.slots)
				}
				want := 0
				if most := max(all["a"], all["b"], all["c"]); len(c.namespaces) >= 10 && 100*most > 80*len(c.namespaces) {
					want = 1
				}
				if got := lines(); len(got) != want {
					t.Errorf("%d lines, want %d; objects %v: %q", len(got), want, all, got)
				}
			})
		})
	}
}

// TestCrowdedMemberSaysWhatItHas checks the line, which is logged by the member that it is about,
// once the slots have been divided for LeaseDuration, and never again.
func TestCrowdedMemberSaysWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := collectLines(t, crowdedLine)
		group := newCounted(cache.HashNamespace, namesOf(30, "team-%02d")...)
		group.start(ctx, t, "a", group.objects)
		group.start(ctx, t, "c", group.objects) // has the slot of the names, and keeps it
		<-time.After(10 * time.Minute)
		if got := lines(); len(got) != 0 {
			t.Errorf("two members: %q", got)
		}
		for range 3 {
			third := newTestMember(t, group.leases, "d", func(o *Options) { o.HashField = group.field })
			informer := cache.NewSharedInformer(group.objects, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: third.Scopes()})
			runInformer(t, informer)
			stop := runMember(t.Context(), t, third)
			<-time.After(10 * time.Minute)
			stop()
			<-time.After(10 * time.Minute)
		}
		got := lines()
		if len(got) != 1 {
			t.Fatalf("%d lines: %q", len(got), got)
		}
		for _, text := range []string{`"objects"=30`, `"all"=30`, `"members"=3`, `"hashField"="object.metadata.namespace"`, `"slot"=`, `"slotObjects"=30`} {
			if !strings.Contains(got[0], text) {
				t.Errorf("%s is not in %s", text, got[0])
			}
		}
	})
}

// TestNoMemberIsCrowdedWhileSlotsMove lets a replica own all objects, whose UIDs are even, until
// two others have joined.
func TestNoMemberIsCrowdedWhileSlotsMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := collectLines(t, crowdedLine)
		group := newCounted(cache.HashUID, namesOf(300, "team-%03d")...)
		for _, identity := range []string{"a", "b", "c", "d"} {
			group.start(ctx, t, identity, group.objects)
			<-time.After(time.Minute)
		}
		if got := lines(); len(got) != 0 {
			t.Errorf("lines %q", got)
		}
	})
}

// neverLists is a server whose lists do not return.
type neverLists struct{ cache.ListerWatcher }

// List implements cache.ListerWatcher.
func (neverLists) List(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestUnknownObjectsAreNotCounted checks members of which one has no informer, and another one has
// an informer that has not listed its slots.
func TestUnknownObjectsAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := collectLines(t, crowdedLine)
		group := newCounted(cache.HashNamespace, namesOf(30, "team-%02d")...)
		a := group.start(ctx, t, "a", group.objects)
		b := group.start(ctx, t, "b", neverLists{group.objects})
		c := newTestMember(t, group.leases, "c", func(o *Options) { o.HashField = group.field })
		runMember(ctx, t, c)
		group.start(ctx, t, "d", group.objects)
		<-time.After(10 * time.Minute)
		if got := objectsOfPeers(a.Status().Peers); got["a"] < 0 || got["b"] != -1 || got["c"] != -1 || got["d"] < 0 {
			t.Errorf("objects %v", got)
		}
		if got := b.Status().SlotObjects; got == nil || len(got) != 0 {
			t.Errorf("objects of slots that were not listed: %v", got)
		}
		if got := c.Status().SlotObjects; got != nil {
			t.Errorf("objects without an informer: %v", got)
		}
		if got := lines(); len(got) != 0 {
			t.Errorf("lines %q", got)
		}
	})
}

// TestRestartedReplicaInheritsNoCount starts a replica again without an informer.
func TestRestartedReplicaInheritsNoCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := newCounted(cache.HashUID, "web")
		m := newTestMember(t, group.leases, "a")
		ctx, cancel := context.WithCancel(t.Context())
		informer := cache.NewSharedInformer(group.objects, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: m.Scopes()})
		runInformer(t, informer)
		stop := runMember(ctx, t, m)
		<-time.After(10 * time.Second)
		if got := objectsOfPeers(m.Status().Peers); got["a"] != 1 {
			t.Errorf("objects %v", got)
		}
		cancel()
		stop()
		again := newTestMember(t, group.leases, "a")
		runMember(t.Context(), t, again)
		<-time.After(time.Second) // before its first renewal
		if got := objectsOfPeers(again.Status().Peers); got["a"] != -1 {
			t.Errorf("objects %v of the restarted replica", got)
		}
	})
}

// TestObjectsOfSeveralInformersAreAdded runs two informers over the scopes of one member, and ends
// one of them.
func TestObjectsOfSeveralInformersAreAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := newCounted(cache.HashUID, namesOf(30, "team-%02d")...)
		m := group.start(t.Context(), t, "a", group.objects)
		<-time.After(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		second := cache.NewSharedInformer(group.objects, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: m.Scopes()})
		done := make(chan error, 1)
		for n, want := range []int{30, 60, 30} {
			if got := total(m.Status().SlotObjects); got != want {
				t.Errorf("step %d: %d objects, want %d", n, got, want)
			}
			switch n {
			case 0:
				go func() { done <- second.Run(ctx) }()
			case 1:
				cancel()
				<-done
			}
			<-time.After(time.Minute)
		}
	})
}

// TestCrowded decides on the views of one member.
func TestCrowded(t *testing.T) {
	peers := func(all ...int) (peers []Peer) { // objects, by rank
		for rank, objects := range all {
			peers = append(peers, Peer{Identity: fmt.Sprint(rank), Slots: shareOf(rank, len(all), 32), Objects: objects})
		}
		return peers
	}
	moving := peers(30, 0, 0)
	moving[0].Slots, moving[1].Slots = moving[0].Slots+1, moving[1].Slots-1
	for _, c := range []struct {
		name  string
		peers []Peer
		most  string // identity, empty if no member is crowded
	}{
		{"no members", nil, ""},
		{"one", peers(30), ""},
		{"two", peers(30, 0), ""},
		{"three", peers(30, 0, 0), "0"},
		{"another one", peers(0, 0, 30), "2"},
		{"four", peers(1, 90, 2, 3), "1"},
		{"80 %", peers(10, 80, 10), ""},
		{"more than 80 %", peers(10, 81, 9), "1"},
		{"a third each", peers(10, 10, 10), ""},
		{"no objects", peers(0, 0, 0), ""},
		{"nine objects", peers(9, 0, 0), ""},
		{"ten objects", peers(10, 0, 0), "0"},
		{"one does not count", peers(30, 0, -1), ""},
		{"the first does not count", peers(-1, 30, 0), ""},
		{"slots move", moving, ""},
		{"a hundred", peers(slices.Repeat([]int{1}, 100)...), ""},
	} {
		most, all, ok := crowded(c.peers, 32)
		if ok != (c.most != "") || ok && (most.Identity != c.most || all < most.Objects) {
			t.Errorf("%s: %+v of %d, %v, want %q", c.name, most, all, ok, c.most)
		}
	}
}
