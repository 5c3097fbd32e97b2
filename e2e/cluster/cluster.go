// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/e2e/binaries"
)

// bootTries is how often Start tries other ports if a server ends while it starts: another process
// may take a port after it was found free.
const bootTries = 3

// Options are the options of a cluster.
type Options struct {
	// APIServerArgs are additional flags of kube-apiserver, which override the default ones.
	APIServerArgs []string
	// EtcdArgs are additional flags of etcd.
	EtcdArgs []string
	// RBAC makes kube-apiserver check permissions. Config has all of them.
	RBAC bool
}

// authorizationMode returns the value of the flag, which APIServerArgs cannot override: its values
// add up.
func (o Options) authorizationMode() string {
	if o.RBAC {
		return "RBAC"
	}
	return "AlwaysAllow"
}

// Cluster is a kube-apiserver with its own etcd, and any number of replicas.
type Cluster struct {
	dir      string // of the servers' data and logs
	programs binaries.Set
	options  Options
	etcd     *etcd
	api      *apiServer

	apiServer  *Server
	etcdServer *Server

	mu       sync.Mutex // guards replicas
	replicas []*Replica
}

// Start builds the servers if necessary, starts them, and returns when the API responds. The caller
// must call Stop. Tests should use [New].
func Start(ctx context.Context, options Options) (*Cluster, error) {
	programs, err := binaries.Build(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		c, err := boot(ctx, programs, options)
		if err == nil || try == bootTries || !errors.Is(err, errEnded) {
			return c, err
		}
	}
}

func boot(ctx context.Context, programs binaries.Set, options Options) (*Cluster, error) {
	c, err := prepare(programs, options)
	if err != nil {
		return nil, err
	}
	if err := c.etcdServer.Start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	if err := c.apiServer.Start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// prepare creates the folder of a cluster and chooses its ports. It does not start servers.
func prepare(programs binaries.Set, options Options) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "kinformer-e2e-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for a cluster: %w", err)
	}
	c := &Cluster{dir: dir, programs: programs, options: options}
	if err := c.configure(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func (c *Cluster) configure() error {
	addrs, err := freePorts(3)
	if err != nil {
		return err
	}
	c.etcd = newEtcd(addrs[0], addrs[1])
	if c.api, err = newAPIServer(c.dir, addrs[2]); err != nil {
		return err
	}
	c.etcdServer = newServer("etcd", c.programs.Etcd(), c.dir, c.etcd.ready,
		append(c.etcd.args(c.dataDir()), c.options.EtcdArgs...)...)
	c.apiServer, err = c.newAPIServer("kube-apiserver", c.api, c.etcd.url)
	return err
}

// newAPIServer returns a kube-apiserver that is not running and reaches etcd at a URL. Its log is
// named after it.
func (c *Cluster) newAPIServer(name string, api *apiServer, etcdURL string, args ...string) (*Server, error) {
	ready, err := api.readiness()
	if err != nil {
		return nil, err
	}
	all := slices.Concat(api.args(etcdURL, c.options.authorizationMode()), c.options.APIServerArgs, args)
	return newServer(name, c.programs.APIServer(), c.dir, ready, all...), nil
}

func (c *Cluster) dataDir() string { return filepath.Join(c.dir, "etcd") }

// Config returns a new client configuration with all permissions and no rate limit. It stays valid
// after restarts.
func (c *Cluster) Config() *rest.Config { return c.api.config() }

// APIServer returns the cluster's kube-apiserver, which the caller may stop and start.
func (c *Cluster) APIServer() *Server { return c.apiServer }

// Etcd returns the cluster's etcd, which the caller may stop and start. kube-apiserver keeps
// running without it, with errors.
func (c *Cluster) Etcd() *Server { return c.etcdServer }

// Dir returns the folder of the cluster's files and logs.
func (c *Cluster) Dir() string { return c.dir }

// Stop stops the servers and removes the cluster's folder.
func (c *Cluster) Stop() error {
	defer c.closeLinks()
	return errors.Join(c.stopServers(false), os.RemoveAll(c.dir))
}

// StopKeepingLogs stops the servers and removes their data, but keeps their logs, for a failed
// test.
func (c *Cluster) StopKeepingLogs() error {
	defer c.closeLinks()
	return errors.Join(c.stopServers(false), os.RemoveAll(c.dataDir()))
}

// stopServers stops every kube-apiserver first, which would log errors without etcd, or only those
// that are connected to it. It closes the connections to etcd, which does not end while it has open
// ones.
func (c *Cluster) stopServers(onlyConnected bool) error {
	err := errors.Join(c.stopReplicas(onlyConnected), c.apiServer.Stop())
	c.etcd.client.CloseIdleConnections()
	err = errors.Join(err, c.etcdServer.Stop())
	c.etcd.client.CloseIdleConnections()
	return err
}

// port returns the port of an address that freePorts returned.
func port(addr string) string {
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		panic(fmt.Sprintf("%q is not an address: %v", addr, err))
	}
	return p
}
