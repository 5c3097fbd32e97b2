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

// The programs that can be run, together or one by one.
const (
	controllerManager = "controller-manager"
	scheduler         = "scheduler"
)

func flagsOf(flags *flag.FlagSet) *options {
	o := &options{}
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "file that says where the API server is")
	flags.StringVar(&o.informers, "informers", informersClientGo, "whose informers: "+strings.Join(informerKinds(), ", "))
	flags.BoolVar(&o.streaming, "streaming", true, "whether informers of ours read from the stream")
	flags.StringVar(&o.programs, "programs", controllerManager+","+scheduler, "what to run")
	return o
}

// run runs the programs until ctx ends.
func (o *options) run(ctx context.Context) error {
	if !slices.Contains(informerKinds(), o.informers) {
		return fmt.Errorf("there are no informers %q, but %s", o.informers, strings.Join(informerKinds(), ", "))
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
		return errors.New("there is no such program")
	}
}
