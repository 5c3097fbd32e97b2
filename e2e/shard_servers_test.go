// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/e2e/cluster"
)

// shardServers are two kube-apiservers on one etcd: on has the feature gate ShardedListAndWatch,
// off, the cluster's own, does not.
type shardServers struct {
	cluster *cluster.Cluster
	on, off *rest.Config
}

// startShardServers adds a server with the feature gate to a cluster.
func startShardServers(ctx context.Context, c *cluster.Cluster) (shardServers, error) {
	replica, err := c.AddAPIServer(ctx, "--feature-gates=ShardedListAndWatch=true")
	if err != nil {
		return shardServers{}, err
	}
	return shardServers{c, replica.Config(), c.Config()}, nil
}

// newShardServers starts a cluster for one test, with both servers.
func newShardServers(t *testing.T) shardServers {
	t.Helper()
	s, err := startShardServers(t.Context(), cluster.New(t, cluster.Options{}))
	if err != nil {
		t.Fatalf("start a server with ShardedListAndWatch: %v", err)
	}
	return s
}

// sharedShards has the second server of the shared cluster, which the first test that uses it
// starts.
var sharedShards struct {
	once    sync.Once
	servers shardServers
	err     error
}

// sharedShardServers returns the shared cluster with both servers.
func sharedShardServers(t *testing.T) shardServers {
	t.Helper()
	c, s := shared(t), &sharedShards
	// Not the test's context: the server outlives the test that starts it.
	s.once.Do(func() { s.servers, s.err = startShardServers(context.Background(), c) })
	if s.err != nil {
		t.Fatalf("start a server with ShardedListAndWatch: %v", s.err)
	}
	return shardServers{c, rest.CopyConfig(s.servers.on), rest.CopyConfig(s.servers.off)}
}

// alternator returns a transport that sends a client's requests to both servers in turn.
func (s shardServers) alternator(t *testing.T) *alternator {
	t.Helper()
	a := &alternator{}
	for _, config := range []*rest.Config{s.off, s.on} {
		server, err := url.Parse(config.Host)
		if err != nil {
			t.Fatal(err)
		}
		a.hosts = append(a.hosts, server.Host)
	}
	return a
}

// alternator sends requests to the servers at hosts in turn, as a load balancer does. A client that
// makes one request after the other lists from one server and watches another.
type alternator struct {
	hosts []string
	next  atomic.Uint64
}

// configure makes a client's requests alternate. It must be called before cache.EnableStreaming,
// whose transport must be the outer one.
func (a *alternator) configure(config *rest.Config) { config.Wrap(a.wrap) }

func (a *alternator) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		sent := r.Clone(r.Context())
		sent.URL.Host = a.hosts[(a.next.Add(1)-1)%uint64(len(a.hosts))]
		sent.Host = sent.URL.Host
		return next.RoundTrip(sent)
	})
}
