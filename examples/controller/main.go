// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/debug"
	"github.com/kinformer/kinformer/metrics"
)

type options struct {
	kubeconfig string
	inCluster  bool
	namespace  string
	address    string
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster; without it, the program starts an API server of its own")
	flag.BoolVar(&o.inCluster, "in-cluster", false, "use the service account of the Pod that the program runs in")
	flag.StringVar(&o.namespace, "lease-namespace", "default", "Namespace of the Lease with which replicas choose a leader")
	flag.StringVar(&o.address, "address", "127.0.0.1:8080", "address of /healthz, /readyz, /metrics and /debug/informers/")
	klog.InitFlags(nil)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	config, stopServer, err := o.config(ctx)
	if err != nil {
		return err
	}
	defer stopServer()
	cache.EnableStreaming(config)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	identity, err := os.Hostname()
	if err != nil {
		return err
	}
	var informers cache.Group
	watchdog := leaderelection.NewLeaderHealthzAdaptor(leaseDuration)
	stopHTTP, err := serve(ctx, o.address, watchdog.Check, &informers)
	if err != nil {
		return err
	}
	defer stopHTTP()
	lease := leaseOf(client, o.namespace, fmt.Sprintf("%s_%d", identity, os.Getpid()))
	return lead(ctx, lease, watchdog, func(ctx context.Context) error {
		c, err := newController(client)
		if err != nil {
			return err
		}
		informers.Add(&c.informers)
		return c.Run(ctx)
	})
}

// config returns the configuration of the cluster's client, and a function that stops the API
// server if it is the program's own.
func (o options) config(ctx context.Context) (*rest.Config, func(), error) {
	switch {
	case o.inCluster:
		config, err := rest.InClusterConfig()
		return config, func() {}, err
	case o.kubeconfig != "":
		config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		return config, func() {}, err
	}
	return startServer(ctx)
}

// handler serves health, metrics and the debug page.
//
// /healthz is for a liveness probe. It fails only if this replica has lost the lease and still
// runs. /readyz is for a readiness probe. It fails while informers list, or are stale because the
// API server does not answer: a restart would not help then, and would lose what they hold.
func handler(alive health, informers *cache.Group) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(metrics.NewCollector(informers)); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/healthz", alive)
	mux.Handle("/readyz", health(informers.HealthCheck(cache.HealthOptions{MaxStaleness: 5 * time.Minute})))
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/debug/informers/", debug.Handler(debug.Options{}, informers))
	return mux, nil
}

// serve serves handler. It returns a function that ends it.
func serve(ctx context.Context, address string, alive health, informers *cache.Group) (func(), error) {
	mux, err := handler(alive, informers)
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	klog.FromContext(ctx).Info("Serving http://" + listener.Addr().String() + "/debug/informers/")
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until Close
	}()
	return func() {
		_ = server.Close()
		<-served
	}, nil
}

// health is a health check as an HTTP handler.
type health func(*http.Request) error

func (check health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := check(r); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}
