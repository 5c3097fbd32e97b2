package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/e2e/binaries"
)

// bootTries is how often a cluster is set up anew, at other ports, when a server ends while it starts: between finding a
// free port and listening on it somebody else may take it.
const bootTries = 3

// Options say how a cluster differs from the usual one. The zero value is the usual one.
type Options struct {
	// APIServerArgs are further flags of kube-apiserver. They come last, so they win over the usual ones.
	APIServerArgs []string
	// EtcdArgs are further flags of etcd.
	EtcdArgs []string
}

// Cluster is a running kube-apiserver with an etcd of its own.
type Cluster struct {
	dir      string // everything that the servers write
	programs binaries.Set
	etcd     *etcd
	api      *apiServer

	apiServer  *Server
	etcdServer *Server
}

// Start builds the servers if need be, boots them, and returns when the API answers. The caller has to call Stop. In tests
// use [New].
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

// prepare lays out the folder and the ports of a cluster, and starts nothing.
func prepare(programs binaries.Set, options Options) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "kinformer-e2e-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for a cluster: %w", err)
	}
	c := &Cluster{dir: dir, programs: programs}
	if err := c.configure(options); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func (c *Cluster) configure(options Options) error {
	addrs, err := freePorts(3)
	if err != nil {
		return err
	}
	c.etcd = newEtcd(addrs[0], addrs[1])
	if c.api, err = newAPIServer(c.dir, addrs[2]); err != nil {
		return err
	}
	ready, err := c.api.readiness()
	if err != nil {
		return err
	}
	c.etcdServer = newServer("etcd", c.programs.Etcd(), c.dir, c.etcd.ready,
		append(c.etcd.args(c.dataDir()), options.EtcdArgs...)...)
	c.apiServer = newServer("kube-apiserver", c.programs.APIServer(), c.dir, ready,
		append(c.api.args(c.etcd.url), options.APIServerArgs...)...)
	return nil
}

func (c *Cluster) dataDir() string { return filepath.Join(c.dir, "etcd") }

// Config returns a new configuration for clients, with all rights and no rate limit. It stays valid over restarts.
func (c *Cluster) Config() *rest.Config { return c.api.config() }

// APIServer is the cluster's kube-apiserver, to be stopped and started.
func (c *Cluster) APIServer() *Server { return c.apiServer }

// Etcd is the cluster's etcd, to be stopped and started. kube-apiserver bears its absence, with errors.
func (c *Cluster) Etcd() *Server { return c.etcdServer }

// Dir is the folder that the cluster's files and logs are in.
func (c *Cluster) Dir() string { return c.dir }

// Stop ends the servers and removes the cluster's folder.
func (c *Cluster) Stop() error {
	return errors.Join(c.stopServers(), os.RemoveAll(c.dir))
}

// StopKeepingLogs ends the servers and removes their data, but leaves the folder with their logs, for a failed test.
func (c *Cluster) StopKeepingLogs() error {
	return errors.Join(c.stopServers(), os.RemoveAll(c.dataDir()))
}

// stopServers ends kube-apiserver first, which would complain of a missing etcd, and takes our own connections off etcd,
// which does not end while there are some.
func (c *Cluster) stopServers() error {
	err := c.apiServer.Stop()
	c.etcd.client.CloseIdleConnections()
	err = errors.Join(err, c.etcdServer.Stop())
	c.etcd.client.CloseIdleConnections()
	return err
}

// port is the port of an address that freePorts made.
func port(addr string) string {
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		panic(fmt.Sprintf("%q is not an address: %v", addr, err))
	}
	return p
}
