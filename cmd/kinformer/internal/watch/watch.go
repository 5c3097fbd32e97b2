// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/internal/terminal"
)

// Run runs the command.
func Run(ctx context.Context, args []string, streams command.Streams) error {
	if len(args) == 0 {
		return &command.UsageError{Help: Help}
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	config, namespace, err := o.cluster.Load()
	if err != nil {
		return err
	}
	resource, err := find(ctx, config, o.resource)
	if err != nil {
		return err
	}
	if o.allNamespaces || !resource.Namespaced {
		namespace = ""
	}
	v := terminal.NewView(streams.Out, o.once)
	w, err := newWatcher(config, resource, namespace, o, v)
	if err != nil {
		return err
	}
	return terminal.Show(ctx, v, w.shown(), 0, nil)
}

// discoveryQPS is kubectl's burst for discovery.
const discoveryQPS = 300

// find returns the resource with a name.
func find(ctx context.Context, config *rest.Config, name string) (*cluster.Resource, error) {
	client, err := cluster.NewClient(ctx, config, cluster.Options{QPS: discoveryQPS, Timeout: config.Timeout})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	catalog, err := client.Discover()
	if err != nil {
		return nil, err
	}
	resource, err := catalog.Find(name)
	if err != nil {
		return nil, err
	}
	if !resource.Cacheable() {
		return nil, fmt.Errorf("%s cannot be watched: the server has no list and watch of it", resource.Name())
	}
	return resource, nil
}

// watcher is an informer of a resource's rows, and what is shown of them.
type watcher struct {
	server     string
	resource   *cluster.Resource
	namespace  string // or "" for all of them
	wide       bool
	tables     *tables
	store      cache.Reader[*row]
	controller *cache.Controller
}

// newWatcher returns a watcher that shows events in a view.
func newWatcher(config *rest.Config, resource *cluster.Resource, namespace string, o *options, v terminal.View) (*watcher, error) {
	config.Timeout = 0 // of a watch
	t, err := newTables(config, resource.Path(namespace))
	if err != nil {
		return nil, err
	}
	w := &watcher{server: config.Host, resource: resource, namespace: namespace, wide: o.output == "wide", tables: t}
	w.store, w.controller = cache.NewInformer(t.listWatch(namespace, o.labels, o.fields), &row{}, 0, cache.EventHandlerFunc[*row](func(event cache.Event[*row]) {
		v.Record(w.event(event))
	}))
	return w, nil
}

// shown returns what the view shows.
func (w *watcher) shown() terminal.Shown {
	return terminal.Shown{Noun: w.noun(), Server: w.server, Informer: w.controller, State: w.state}
}

// noun returns the name of the objects.
func (w *watcher) noun() string {
	switch {
	case !w.resource.Namespaced:
		return w.resource.Name()
	case w.namespace == "":
		return w.resource.Name() + " in all namespaces"
	default:
		return w.resource.Name() + " in namespace " + w.namespace
	}
}

// state returns the current state.
func (w *watcher) state(now time.Time) terminal.State {
	rows, shown := w.store.Snapshot(), w.shownColumns()
	state := terminal.State{
		Title:           w.noun() + " of " + w.server,
		Summary:         w.count(rows.Len()),
		Columns:         headers(shown),
		Len:             rows.Len(),
		ResourceVersion: rows.ResourceVersion(),
		Status:          w.controller.Status(),
		Now:             now,
	}
	state.Rows = func(limit int) (texts []terminal.Row) {
		for _, r := range rows.All() {
			if len(texts) == limit {
				break
			}
			texts = append(texts, terminal.Row{Key: w.name(r), Cells: cellsOf(r, shown, now)})
		}
		return texts
	}
	return state
}

func (w *watcher) count(n int) string {
	if n == 1 {
		return "1 " + strings.ToLower(w.resource.Kind)
	}
	return fmt.Sprintf("%d %s", n, w.resource.Resource)
}
