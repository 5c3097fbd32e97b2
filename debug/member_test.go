// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"context"
	"errors"
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
