// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulatecr

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kinformer/kinformer/simulate"
)

// Start returns a function for simulate.Test.Start that runs a manager with the controllers that
// setUp adds. The options are those of the program, and are adapted to a simulation as the
// package's documentation says. They are used in each run, and so must hold nothing that belongs to
// one.
func Start(options ctrl.Options, setUp func(ctrl.Manager) error) func(context.Context, *rest.Config) error {
	ctrl.SetLogger(logr.Discard()) // without effect if the test has set another
	return func(ctx context.Context, config *rest.Config) error {
		m, err := ctrl.NewManager(config, adapt(ctx, options))
		if err != nil {
			return fmt.Errorf("create manager: %w", err)
		}
		if err := setUp(manager{m}); err != nil {
			return fmt.Errorf("set up controllers: %w", err)
		}
		return m.Start(ctx)
	}
}

// Another replica takes over within leaseDuration and twice 2.2 retryPeriods, which is shorter than
// the default of simulate.Test.Rest.
const (
	leaseDuration = 6 * time.Minute
	renewDeadline = 4 * time.Minute
	retryPeriod   = 2 * time.Minute
)

// adapt returns the options of a manager that runs in a simulation until ctx is cancelled.
func adapt(ctx context.Context, o ctrl.Options) ctrl.Options {
	o.Metrics = metricsserver.Options{BindAddress: "0"}
	o.HealthProbeBindAddress, o.PprofBindAddress = "0", "0"
	o.WebhookServer = webhookServer{webhook.NewServer(webhook.Options{})}
	o.Controller.SkipNameValidation = new(true)
	o.Controller.RecoverPanic = new(true)
	o.Controller.UsePriorityQueue = new(false)
	if o.BaseContext == nil {
		o.BaseContext = func() context.Context { return ctx } // by which simulate knows the process
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.LeaderElectionNamespace == "" {
		o.LeaderElectionNamespace = "default" // that of the Pod, which a simulation has not
	}
	if o.LeaseDuration == nil && o.RenewDeadline == nil && o.RetryPeriod == nil {
		o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = new(leaseDuration), new(renewDeadline), new(retryPeriod)
	}
	newCache := o.NewCache
	if newCache == nil {
		newCache = ctrlcache.New
	}
	o.NewCache = func(config *rest.Config, options ctrlcache.Options) (ctrlcache.Cache, error) {
		c, err := newCache(config, options)
		return cache{c, ctx}, err
	}
	return o
}

// manager is a manager whose controllers have queues without metrics, which are updated twice a
// second of the bubble's clock. An hour of it would take longer than the controller.
type manager struct{ ctrl.Manager }

// Add implements ctrl.Manager.
func (m manager) Add(runnable ctrlmanager.Runnable) error {
	adaptController(runnable)
	return m.Manager.Add(runnable)
}

// controllers is the package of controller-runtime that has the type of controllers. It is
// internal.
const controllers = "sigs.k8s.io/controller-runtime/pkg/internal/controller"

// adaptController makes a controller construct a queue without a name, which has no metrics, and
// recover panics. No option of a manager does the former, and options of a controller come before
// those of its manager. It has no effect on other runnables.
func adaptController(runnable ctrlmanager.Runnable) {
	c := reflect.Indirect(reflect.ValueOf(runnable))
	if c.Kind() != reflect.Struct || c.Type().PkgPath() != controllers {
		return
	}
	if field := c.FieldByName("RecoverPanic"); field.IsValid() && field.CanSet() && field.Type() == reflect.TypeFor[*bool]() {
		field.Set(reflect.ValueOf(new(true)))
	}
	field := c.FieldByName("NewQueue")
	if field.Kind() != reflect.Func || field.IsNil() || !field.CanSet() || field.Type().NumIn() != 2 || field.Type().In(0).Kind() != reflect.String {
		return
	}
	newQueue := reflect.ValueOf(field.Interface())
	field.Set(reflect.MakeFunc(field.Type(), func(args []reflect.Value) []reflect.Value {
		return newQueue.Call([]reflect.Value{reflect.Zero(args[0].Type()), args[1]})
	}))
}

// cache is a cache that is reported as synced once the manager's context is cancelled. A manager
// that is cancelled while it starts its cache selects on its context without end, until the cache
// has synced.
type cache struct {
	ctrlcache.Cache

	managerCtx context.Context
}

// WaitForCacheSync implements ctrlcache.Informers.
func (c cache) WaitForCacheSync(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.managerCtx, cancel)()
	return c.Cache.WaitForCacheSync(ctx) || c.managerCtx.Err() != nil
}

// webhookServer listens on no port: the API server of the simulation calls its webhooks.
type webhookServer struct{ webhook.Server }

// Start implements manager.Runnable.
func (s webhookServer) Start(ctx context.Context) error {
	return simulate.ServeWebhooks(ctx, s.WebhookMux())
}

// StartedChecker implements webhook.Server.
func (webhookServer) StartedChecker() healthz.Checker { return healthz.Ping }
