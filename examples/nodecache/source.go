package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// source is where the nodes come from.
type source struct {
	name   string // for people
	client kubernetes.Interface
	// simulate makes nodes come, change and go until its context ends; with a
	// real cluster it does nothing.
	simulate func(context.Context) error
	// close ends what connect started.
	close func() error
}

// closeTimeout is what the simulated server gets to end its requests.
const closeTimeout = 500 * time.Millisecond

// connect returns the source that the options ask for.
func connect(o options) (*source, error) {
	if !o.cluster {
		return connectSimulation(o)
	}
	config, err := loadKubeconfig(o.kubeconfig, o.context)
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

// connectSimulation starts an API server with nodes.
func connectSimulation(o options) (*source, error) {
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
		_ = stop() // the first error is the one to tell
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

// newClient returns an ordinary clientset, and what closes its connections.
func newClient(config *rest.Config) (kubernetes.Interface, func(), error) {
	config.UserAgent = "kinformer-nodecache"
	config.ContentType = runtime.ContentTypeProtobuf // cheaper than JSON for the types that Kubernetes itself has
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	cache.EnableStreaming(config) // the one line that spares whole lists in memory; all works without it
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect to %s: %w", config.Host, err)
	}
	client, err := kubernetes.NewForConfigAndClient(config, http)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect to %s: %w", config.Host, err)
	}
	return client, func() { utilnet.CloseIdleConnectionsFor(http.Transport) }, nil
}
