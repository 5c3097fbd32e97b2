package main

import (
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// grace is how long the end may take before the process ends all the same: what
// reads standard output may have stopped reading.
const grace = time.Second

func main() {
	silenceKlog()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second Ctrl-C ends the process at once
		time.AfterFunc(grace, func() { os.Exit(1) })
	})
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// silenceKlog throws klog's output away. What client-go and the informer log would
// land in the middle of the table; what goes wrong is shown by the views, from the
// informer's Status. A program without a screen leaves klog as it is, or gives the
// informer a logger of its own with klog.NewContext.
func silenceKlog() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)
}
