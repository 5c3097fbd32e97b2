// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package soak_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake"
)

// faults injects random faults.
type faults struct {
	*rand.Rand
	server   *fake.APIServer
	injected int
}

// inject injects a fault into the next few requests of one informer or of all, or breaks
// connections, or both. d is the length of the cycle.
func (f *faults) inject(informers []*subject, d time.Duration) {
	f.injected++
	only := informers[f.IntN(len(informers))]
	verb := []string{"list", "watch", "watch"}[f.IntN(3)]
	everyone := f.IntN(8) == 0
	if f.IntN(10) == 0 {
		f.server.Compact()
	}
	f.server.InjectFault(1+f.IntN(3), func(r fake.APIRequest) bool {
		return r.Verb == verb && r.Resource == "pods" && (everyone || r.HTTP.UserAgent() == only.name)
	}, f.fault(d))
	for _, i := range informers {
		if i == only || everyone {
			i.breakConnections()
		}
	}
}

var errBroken = errors.New("the storage is broken")

// fault returns a random fault. Connections die for longer than a short run lasts.
func (f *faults) fault(d time.Duration) fake.Fault {
	pods := schema.GroupResource{Resource: "pods"}
	seconds := time.Duration(1+f.IntN(10)) * time.Second
	all := []fake.Fault{
		{Err: errBroken},
		{Err: fake.TooManyRequests(1 + f.IntN(3))},
		{Err: fake.TooManyRequests(0)},
		{Err: apierrors.NewServiceUnavailable("restart")},
		{Err: apierrors.NewForbidden(pods, "", errBroken)},
		{Err: apierrors.NewUnauthorized("expired")},
		{Err: fake.Expired()},
		{Err: fake.TooLargeResourceVersion()},
		{CutAfterBytes: -1},
		{CutAfterBytes: 1 + f.IntN(200_000)},
		{CloseAfterEvents: -1},
		{CloseAfterEvents: 1 + f.IntN(100)},
		{CloseIn: seconds},
		{Delay: seconds / 2},
		{Stall: true, CloseIn: seconds},
		{ResourceVersion: f.lagging(), CloseIn: seconds},
	}
	if d == churnTime {
		all = append(all, fake.Fault{Stall: true})
	}
	return all[f.IntN(len(all))]
}

// lagging returns a version of the last few hundred.
func (f *faults) lagging() string {
	version, err := strconv.ParseUint(f.server.ResourceVersion(), 10, 64)
	if err != nil {
		panic(err)
	}
	return strconv.FormatUint(max(1, version-min(version, f.Uint64N(500))), 10)
}

// heal ends the faults of later requests.
func (f *faults) heal() { f.server.ClearFaults() }
