// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/client-go/rest"
)

// Replica is another kube-apiserver on the etcd of a [Cluster]. It has its own address, watch cache
// and flags, and shares the certificate and the tokens with the first: a client may send any
// request to either.
type Replica struct {
	*Server
	api  *apiServer
	link *link // to etcd
}

// Cut closes the connections between the replica and etcd, and refuses new ones until Mend. The
// replica goes on: it serves what is in its watch cache, which is never updated, and cannot read
// anything else.
func (r *Replica) Cut() { r.link.setCut(true) }

// Mend lets the replica connect to etcd again.
func (r *Replica) Mend() { r.link.setCut(false) }

// Config returns a new client configuration, which differs from [Cluster.Config] in the address
// only.
func (r *Replica) Config() *rest.Config { return r.api.config() }

// AddAPIServer starts a replica, and returns when it is ready. Its flags are those of the cluster's
// kube-apiserver, which args override. Stopping the cluster stops it.
func (c *Cluster) AddAPIServer(ctx context.Context, args ...string) (*Replica, error) {
	for try := 1; ; try++ {
		r, err := c.newReplica(args)
		if err != nil {
			return nil, err
		}
		if err = r.Start(ctx); err == nil {
			return r, nil
		}
		r.link.close()
		if try == bootTries || !errors.Is(err, errEnded) {
			return nil, err
		}
	}
}

// newReplica chooses a port and adds a replica that is not running.
func (c *Cluster) newReplica(args []string) (*Replica, error) {
	addrs, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	link, err := newLink(c.etcd.addr)
	if err != nil {
		return nil, err
	}
	api := &apiServer{dir: c.dir, addr: addrs[0]}
	server, err := c.newAPIServer(fmt.Sprintf("kube-apiserver-%d", len(c.replicas)+2), api, link.url(), args...)
	if err != nil {
		link.close()
		return nil, err
	}
	r := &Replica{server, api, link}
	c.replicas = append(c.replicas, r)
	return r, nil
}

// servers returns etcd and every kube-apiserver.
func (c *Cluster) servers() []*Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []*Server{c.etcdServer, c.apiServer}
	for _, r := range c.replicas {
		all = append(all, r.Server)
	}
	return all
}

// stopReplicas stops the replicas, or only those that are connected to etcd. It leaves the
// connections as they are.
func (c *Cluster) stopReplicas(onlyConnected bool) error {
	c.mu.Lock()
	replicas := slices.Clone(c.replicas)
	c.mu.Unlock()
	var errs []error
	for _, r := range replicas {
		if !onlyConnected || !r.link.isCut() {
			errs = append(errs, r.Stop())
		}
	}
	return errors.Join(errs...)
}

// closeLinks ends the connections of the replicas to etcd. They cannot be started again.
func (c *Cluster) closeLinks() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.replicas {
		r.link.close()
	}
}
