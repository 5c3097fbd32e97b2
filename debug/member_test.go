// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientfake "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/shard"
)

// refusedLeases refuses updates while refused is set.
type refusedLeases struct {
	shard.LeaseClient
	refused atomic.Bool
}

func (l *refusedLeases) Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if l.refused.Load() {
		return nil, errors.New("read-only")
	}
	return l.LeaseClient.Update(ctx, lease, options)
}

// TestMembersAreShown checks the members of shard groups on the overview: before and while the
// member runs, and while it cannot renew its Lease.
func TestMembersAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := &refusedLeases{LeaseClient: clientfake.NewClientset().CoordinationV1().Leases("web")}
		member, err := shard.New(leases, shard.Options{Group: "web", Identity: "a", Slots: 4})
		if err != nil {
			t.Fatal(err)
		}
		sharded := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Scopes: member.Scopes()})
		handler := Handler(Options{}, sharded)
		expect := func(texts ...string) {
			t.Helper()
			page := get(t, handler, "/")
			_, row, _ := strings.Cut(page, `<caption id="shards">`)
			for _, text := range texts {
				if !strings.Contains(row, text) {
					t.Errorf("%q is not in %s", text, row)
				}
			}
		}
		expect("<td>web</td>", `<th scope="row">a</th>`, `<td class="off">not running</td>`)
		stop := start(t, member.Run)
		<-time.After(time.Minute)
		expect(`<td class="ok">member</td>`, "<td>4 of 4</td><td>0</td><td>1</td>", "<td>New 4</td><td>none</td>")
		start(t, sharded.Run)
		<-time.After(time.Second)
		shown := getJSON[detail](t, handler, page("informer.json", sharded.Views()[0].ID(), ""))
		if all := shown.Scopes; len(all) != 1 || all[0].Scope != "slots 0 to 3 of 4 by uid" {
			t.Errorf("scopes of the sharded informer: %+v", all)
		}
		leases.refused.Store(true)
		<-time.After(20 * time.Second)
		expect(`<td class="error">cannot renew its Lease, and owns no slots: <bdi class="cause">renew the member`, "<td>0 of 4</td><td>4</td><td>0</td>", "<td>NotRenewed 4</td>")
		got := getJSON[overview](t, handler, "/informers.json").Members
		if len(got) != 1 || got[0].Member != "a" || got[0].FreeSlots != 4 || got[0].Lost["NotRenewed"] != 4 || !strings.Contains(got[0].Error, "read-only") {
			t.Errorf("JSON %+v", got)
		}
		leases.refused.Store(false)
		stop()
		without, _ := pods("pods")
		if page := get(t, Handler(Options{}, without), "/"); strings.Contains(page, "shard") {
			t.Errorf("members without a shard group: %s", page)
		}
	})
}

// TestObjectsOfMembersAreShown checks the programs and objects of members, and the objects of
// slots: of a member with an informer, and of one without, which has no program either.
func TestObjectsOfMembersAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := clientfake.NewClientset().CoordinationV1().Leases("web")
		newMember := func(identity, program string) *shard.Member {
			member, err := shard.New(leases, shard.Options{Group: "web", Identity: identity, Program: program, Slots: 256, HashField: cache.HashNamespace})
			if err != nil {
				t.Fatal(err)
			}
			return member
		}
		member, server := newMember("a", "web-controller"), fake.NewListerWatcher(&corev1.Pod{})
		for n := range 30 {
			server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("team-%02d", n), Name: "a"}})
		}
		sharded := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Scopes: member.Scopes()})
		handler := Handler(Options{}, sharded)
		start(t, member.Run)
		<-time.After(time.Minute)
		expect(t, get(t, handler, "/"), "<caption>Members of web as seen by a</caption>",
			`<th scope="row">a</th><td>web-controller</td><td>256</td><td>not known</td>`)
		start(t, sharded.Run)
		<-time.After(time.Minute)
		expect(t, get(t, handler, "/"), `<th scope="row">a</th><td>web-controller</td><td>256</td><td>30</td>`,
			"<p>Slots of a by objects: slot 65: 30, slot 0: 0, slot 1: 0,", ", …</p>")
		got := getJSON[overview](t, handler, "/informers.json").Members[0]
		if len(got.SlotObjects) != 100 || got.SlotObjects[0] != (slotObjects{65, 30}) || *got.Objects != 30 {
			t.Errorf("slots %+v, objects %v", got.SlotObjects, got.Objects)
		}
		start(t, newMember("b", "").Run)
		<-time.After(time.Minute)
		expect(t, get(t, handler, "/"), `<th scope="row">b</th><td>none</td><td>128</td><td>not known</td>`)
		got = getJSON[overview](t, handler, "/informers.json").Members[0]
		if len(got.Peers) != 2 || got.Peers[0].Program != "web-controller" || got.Peers[0].Objects == nil || got.Peers[1].Member != "b" || got.Peers[1].Objects != nil {
			t.Errorf("peers %+v", got.Peers)
		}
	})
}
