package cache

import (
	"context"

	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/reflector"
)

// runner is what informers have in common whatever the type of their objects.
type runner struct {
	engine  engine
	way     *way
	report  *reporter
	invalid error // why it cannot run
}

// engine is an informer of any type.
type engine interface {
	Run(ctx context.Context) error
	HasSynced() bool
	WaitForSync(ctx context.Context) error
	Reflector() *reflector.Reflector
	Handlers() []informer.HandlerStatus
	Size() (objects, quarantined int)
}

func (r *runner) run(ctx context.Context) error {
	if r.invalid != nil {
		return r.invalid
	}
	return r.engine.Run(r.report.begin(ctx))
}

// status collects the informer's condition.
func (r *runner) status(synced bool) Status {
	if r.invalid != nil {
		return Status{Name: r.report.name, Phase: PhaseInvalid, Err: r.invalid}
	}
	loop := r.engine.Reflector().Status()
	s := Status{
		Name:            r.report.name,
		Phase:           Phase(loop.Phase),
		Synced:          synced,
		Err:             loop.Err,
		ErrSince:        loop.ErrSince,
		Attempts:        loop.Attempts,
		ResourceVersion: loop.ResourceVersion,
		FreshAt:         loop.FreshAt,
		Lists:           loop.Lists,
		Watches:         loop.Watches,
	}
	s.Streaming, s.NotStreamingReason = r.way.get()
	s.Objects, s.Quarantined = r.engine.Size()
	for _, h := range r.engine.Handlers() {
		s.Handlers = append(s.Handlers, HandlerStatus(h))
	}
	return s
}
