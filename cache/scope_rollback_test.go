// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinformer/kinformer/fake"
)

// overtake restores the server to before the last changes received, and lets its new history pass
// the version reached, before a watch is resumed.
func overtake(i *scopedInformer) {
	for n := range 40 {
		i.server.Create(configMap(fmt.Sprintf("a/%02d", n)))
	}
	synctest.Wait()
	backup := i.server.ResourceVersion()
	for n := range 40 {
		i.server.Update(configMap(fmt.Sprintf("a/%02d", n), "epoch=lost"))
	}
	for n := range 40 {
		i.server.Create(configMap(fmt.Sprintf("a/lost%02d", n)))
	}
	synctest.Wait()
	i.server.Restore(backup)
	for n := range 40 {
		i.server.Create(configMap(fmt.Sprintf("a/new%02d", n)))
	}
	i.server.SkipVersions(500)
}

// TestConfirmationSurvivesAJoin restores etcd, and refuses the overlap by 410, so that a list is
// due within five minutes. A range of hashes is added meanwhile, and the watches are joined.
func TestConfirmationSurvivesAJoin(t *testing.T) {
	for _, join := range []bool{false, true} {
		t.Run(fmt.Sprintf("join: %v", join), func(t *testing.T) {
			runScoped(t, func(i *scopedInformer) {
				i.server.SetShardedListAndWatch(true)
				for n := range 3 {
					i.server.Create(configMap(fmt.Sprintf("a/first%02d", n)))
				}
				synctest.Wait()
				<-time.After(time.Minute)
				i.server.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
				overtake(i)
				<-time.After(10 * time.Second)
				to := uint64(8)
				if join {
					_ = i.scopes.Add(ranges(8, 16)...)
					to = 16
				}
				<-time.After(6 * time.Hour)
				i.expectServed(0, to)
			}, ranges(0, 8)...)
		})
	}
}

// TestJoinBeforeTheOverlapIsConfirmed restores etcd, and refuses connections, as while servers
// start. A range of hashes is added and joined before the first stream has opened a watch again.
func TestJoinBeforeTheOverlapIsConfirmed(t *testing.T) {
	for _, join := range []bool{false, true} {
		t.Run(fmt.Sprintf("join: %v", join), func(t *testing.T) {
			runScoped(t, func(i *scopedInformer) {
				i.server.SetShardedListAndWatch(true)
				<-time.After(time.Minute)
				i.server.InjectWatchFault(3, fake.Fault{Err: syscall.ECONNREFUSED})
				overtake(i)
				<-time.After(3 * time.Second)
				to := uint64(8)
				if join {
					_ = i.scopes.Add(ranges(8, 16)...)
					to = 16
				}
				for n := range 600 {
					i.server.Update(configMap(fmt.Sprintf("a/new%02d", n%40)))
					<-time.After(100 * time.Millisecond)
				}
				<-time.After(6 * time.Hour)
				i.expectServed(0, to)
			}, ranges(0, 8)...)
		})
	}
}
