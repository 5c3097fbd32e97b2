// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/kinformer/cache"
)

// options say where the Pods come from. A source that is not named is not read.
type options struct {
	kubeconfig string
	node       string
	folder     string
	url        string
	interval   time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster")
	flag.StringVar(&o.node, "node", "node-1", "name of the node whose Pods to show")
	flag.StringVar(&o.folder, "folder", "", "folder with manifests of Pods")
	flag.StringVar(&o.url, "url", "", "URL of a manifest")
	flag.DurationVar(&o.interval, "interval", 20*time.Second, "time between two requests of the URL")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "podsource:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	var config *rest.Config
	if o.kubeconfig == "" && o.folder == "" && o.url == "" {
		demo, err := startDemo(ctx, &o)
		if err != nil {
			return err
		}
		defer demo.stop()
		config = demo.server.Config()
	}
	sources := newPodConfig()
	run := []func(context.Context) error{sources.Run, func(context.Context) error { printUpdates(sources.updates); return nil }}
	if o.kubeconfig != "" {
		loaded, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		if err != nil {
			return err
		}
		config = loaded
	}
	if config != nil {
		cache.EnableStreaming(config)
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		run = append(run, (&apiServerSource{client, o.node, sources}).Run)
	}
	if o.folder != "" {
		run = append(run, newFolderSource(o.folder, o.node, sources).Run)
	}
	if o.url != "" {
		run = append(run, newURLSource(o.url, o.node, o.interval, sources).Run)
	}
	return cache.RunAll(ctx, run...)
}

// printUpdates prints updates until the channel is closed.
func printUpdates(updates <-chan update) {
	for u := range updates {
		var names []string
		for _, pod := range u.pods {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
		if len(names) == 0 {
			names = append(names, "(none)")
		}
		fmt.Printf("%-4s  %-6s  %s\n", u.source, u.op, strings.Join(names, " "))
	}
}
