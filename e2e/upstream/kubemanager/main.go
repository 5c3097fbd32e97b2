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
	"sync"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func main() {
	klog.InitFlags(nil)
	o := flagsOf(flag.CommandLine)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "kubemanager:", err)
		os.Exit(1)
	}
}

// options are the program's flags.
type options struct {
	kubeconfig string
	informers  string
	streaming  bool
	programs   string
}

// The values of the flag --programs.
const (
	controllerManager = "controller-manager"
	scheduler         = "scheduler"
)

func flagsOf(flags *flag.FlagSet) *options {
	o := &options{}
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of the API server")
	flags.StringVar(&o.informers, "informers", informersClientGo, "the informers to use: "+strings.Join(informerKinds(), ", "))
	flags.BoolVar(&o.streaming, "streaming", true, "whether kinformer's informers stream lists and watches")
	flags.StringVar(&o.programs, "programs", controllerManager+","+scheduler, "the programs to run, separated by commas")
	return o
}

// run runs the programs until ctx ends.
func (o *options) run(ctx context.Context) error {
	if !slices.Contains(informerKinds(), o.informers) {
		return fmt.Errorf("unknown informers %q: want one of %s", o.informers, strings.Join(informerKinds(), ", "))
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read --kubeconfig: %w", err)
	}
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for program := range strings.SplitSeq(o.programs, ",") {
		if err := o.start(ctx, program, config, &running); err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
	}
	fmt.Println("ready")
	<-ctx.Done()
	return nil
}

// start starts one program, and returns when its caches have synced.
func (o *options) start(ctx context.Context, program string, config *rest.Config, running *sync.WaitGroup) error {
	config = rest.AddUserAgent(rest.CopyConfig(config), program)
	f, err := o.factories(config)
	if err != nil {
		return err
	}
	switch program {
	case controllerManager:
		return startControllers(ctx, config, f, running)
	case scheduler:
		return startScheduler(ctx, config, f, running)
	default:
		return errors.New("unknown program")
	}
}
