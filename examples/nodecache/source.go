// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/kubeconfig"
)

// source is the cluster that provides the nodes.
type source struct {
	name   string // for messages
	client kubernetes.Interface
	// simulate changes nodes until its context ends. For a real cluster it does nothing.
	simulate func(context.Context) error
	// close closes the connections and stops the simulated server.
	close func() error
}

// closeTimeout is the maximum time that the simulated server waits for its requests to end.
const closeTimeout = 500 * time.Millisecond

// newSource returns the source that the options select.
func newSource(o options) (*source, error) {
	if !o.cluster {
		return newSimulatedSource(o)
	}
	config, _, err := kubeconfig.Load(o.kubeconfig, clientcmd.ConfigOverrides{CurrentContext: o.context})
	if err != nil {
		return nil, err
	}
	client, closeClient, err := newClient(config)
	if err != nil {
		return nil, err
	}
	return &source{
		name:     config.Host,
		client:   client,
		simulate: func(context.Context) error { return nil },
		close:    func() error { closeClient(); return nil },
	}, nil
}

// newSimulatedSource starts an API server with simulated nodes.
func newSimulatedSource(o options) (*source, error) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		return nil, err
	}
	stop := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return server.Close(ctx)
	}
	cluster := newSimulation(server, o.nodes, o.seed)
	client, closeClient, err := newClient(server.Config())
	if err == nil {
		err = cluster.populate()
	}
	if err != nil {
		_ = stop() // report the first error
		return nil, err
	}
	return &source{
		name:     "the simulated cluster at " + server.URL(),
		client:   client,
		simulate: cluster.run,
		close: func() error {
			closeClient()
			return stop()
		},
	}, nil
}

// newClient returns a clientset and a function that closes its connections.
func newClient(config *rest.Config) (kubernetes.Interface, func(), error) {
	config.UserAgent = "kinformer-nodecache"
	config.ContentType = runtime.ContentTypeProtobuf // smaller and faster than JSON
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	cache.EnableStreaming(config) // optional; decodes a list as it arrives, which saves memory
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	client, err := kubernetes.NewForConfigAndClient(config, http)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	return client, func() { utilnet.CloseIdleConnectionsFor(http.Transport) }, nil
}
