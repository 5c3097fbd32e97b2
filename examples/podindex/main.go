// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/kinformer/cache"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file of a cluster; without it, the program starts an API server of its own")
	port := flag.Int("port", 8080, "port on 127.0.0.1; 0 is any free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, *kubeconfig, *port); err != nil {
		fmt.Fprintln(os.Stderr, "podindex:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string, port int) error {
	config, stopServer, err := clientConfig(kubeconfig)
	if err != nil {
		return err
	}
	defer stopServer()
	cache.EnableStreaming(config) // else the client decodes whole Pods
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	fmt.Println("Serving http://" + listener.Addr().String())
	pods := newInformer(cache.ListWatchOf(client.CoreV1().Pods("")))
	return cache.RunAll(ctx, pods.Run,
		func(ctx context.Context) error { return serve(ctx, listener, handler(pods)) },
		func(ctx context.Context) error {
			if pods.WaitForSync(ctx) == nil {
				fmt.Println("Synced", pods.Store().Snapshot().Len(), "Pods")
			}
			return nil
		})
}

// serve serves a handler until ctx ends.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// clientConfig returns the configuration of a client, and a function that stops the API server if
// it is the program's own.
func clientConfig(kubeconfig string) (*rest.Config, func(), error) {
	if kubeconfig == "" {
		return startServer()
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	return config, func() {}, err
}
