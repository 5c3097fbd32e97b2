// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

type options struct {
	kubeconfig string
	server     string
	namespace  string
	components []string
	act        bool
	scenario   bool
	timeout    time.Duration
}

// allComponents returns the names that -run accepts.
func allComponents() []string { return []string{"controller", "scheduler", "kubelet"} }

func main() {
	var o options
	names := strings.Join(allComponents(), ",")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster")
	flag.StringVar(&o.server, "server", "", "URL of the server of another process of this program")
	flag.StringVar(&o.namespace, "namespace", "default", "Namespace of the ReplicaSet")
	flag.Func("run", "which of "+names+" to run (default all)", func(list string) error {
		o.components = strings.Split(list, ",")
		for _, name := range o.components {
			if !slices.Contains(allComponents(), name) {
				return fmt.Errorf("unknown component %q: want some of %s", name, names)
			}
		}
		return nil
	})
	flag.BoolVar(&o.act, "act", false, "with -kubeconfig: do the work of the components, instead of watching those of the cluster")
	flag.BoolVar(&o.scenario, "scenario", false, "with -kubeconfig or -server: create, scale and delete a ReplicaSet, then end")
	flag.DurationVar(&o.timeout, "timeout", time.Minute, "how long each step of the scenario may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "podlifecycle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if len(o.components) == 0 {
		o.components = allComponents()
	}
	config, stopServer, err := o.connect()
	if err != nil {
		return err
	}
	defer stopServer()
	cache.EnableStreaming(config)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if !o.act {
		fmt.Printf("watching Namespace %s of %s\n", o.namespace, config.Host)
	}
	t := newTimeline(os.Stdout)
	components, err := o.newComponents(ctx, client, t)
	if err != nil {
		return err
	}
	if !o.scenario {
		return cache.RunAll(ctx, components...)
	}
	steps := &scenario{client, o.namespace, t, o.timeout}
	return runDuring(ctx, steps.run, components)
}

// runDuring runs the components until the scenario or ctx has ended.
func runDuring(ctx context.Context, scenario runFunc, components []runFunc) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return cache.RunAll(ctx, append(components, func(ctx context.Context) error {
		defer cancel()
		return scenario(ctx)
	})...)
}

// connect returns the configuration of clients, and a function that stops the API server if it is
// the program's own.
func (o *options) connect() (*rest.Config, func(), error) {
	switch {
	case o.kubeconfig != "":
		config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		return config, func() {}, err
	case o.server != "":
		o.act = true
		return &rest.Config{Host: o.server, QPS: -1}, func() {}, nil
	}
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		return nil, nil, err
	}
	o.act = true
	if len(o.components) == len(allComponents()) {
		o.scenario = true
	} else {
		fmt.Printf("the API server is at %s\n", server.URL())
	}
	for _, name := range []string{"node-1", "node-2"} {
		if err := server.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return nil, nil, err
		}
	}
	return server.Config(), func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Close(closing)
	}, nil
}

// runFunc is a function that cache.RunAll can run.
type runFunc = func(ctx context.Context) error

// newComponents returns the Run methods of the components. There is a kubelet for each node.
func (o *options) newComponents(ctx context.Context, client kubernetes.Interface, t *timeline) (run []runFunc, err error) {
	add := func(component interface{ Run(context.Context) error }, made error) {
		run, err = append(run, component.Run), errors.Join(err, made)
	}
	for _, name := range o.components {
		switch name {
		case "controller":
			add(newController(client, o.namespace, t, o.act))
		case "scheduler":
			add(newScheduler(client, o.namespace, t, o.act))
		case "kubelet":
			nodes, listErr := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			if listErr != nil {
				return nil, listErr
			}
			for _, node := range nodes.Items {
				add(newKubelet(client, o.namespace, node.Name, t, o.act))
			}
		}
	}
	return run, err
}
