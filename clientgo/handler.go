package clientgo

import (
	"errors"
	"fmt"
	"time"

	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/informer"
)

const (
	// minimumResync is the shortest resync period; shorter ones are made this long.
	minimumResync = time.Second
	// afterPanic is how long a handler rests after a panic that did not end the process.
	afterPanic = time.Second
)

// AddEventHandler adds a handler.
func (s *sharedIndexInformer) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, clientcache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler with a resync period of its own.
func (s *sharedIndexInformer) AddEventHandlerWithResyncPeriod(handler clientcache.ResourceEventHandler, resyncPeriod time.Duration) (clientcache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, clientcache.HandlerOptions{ResyncPeriod: &resyncPeriod})
}

// AddEventHandlerWithOptions adds a handler. Before Run it is told everything from the
// beginning; later, of each object that there is, as of one in the initial list, and what
// changes from then on.
func (s *sharedIndexInformer) AddEventHandlerWithOptions(handler clientcache.ResourceEventHandler, options clientcache.HandlerOptions) (clientcache.ResourceEventHandlerRegistration, error) {
	if handler == nil {
		return nil, errNoHandler
	}
	logger := klog.Background()
	if options.Logger != nil {
		logger = *options.Logger
	}
	resync := s.options.ResyncPeriod
	if options.ResyncPeriod != nil {
		resync = *options.ResyncPeriod
	}
	if resync > 0 && resync < minimumResync {
		logger.Info("Warning: the resync period is too short and made longer", "resyncPeriod", resync, "minimum", minimumResync)
		resync = minimumResync
	}
	added, err := s.engine.Add(informer.HandlerConfig[any]{
		Name:       fmt.Sprintf("%T", handler),
		Logger:     logger,
		OnEvent:    tell(handler),
		Delivery:   s.options.delivery(),
		Resync:     resync,
		PanicDelay: afterPanic,
	})
	if errors.Is(err, informer.ErrStopped) {
		return nil, fmt.Errorf("handler %v was not added to shared informer because it has stopped already", handler)
	}
	if err != nil {
		return nil, err
	}
	return &registration{handler: added, informer: s, name: fmt.Sprintf("%T", handler)}, nil
}

var errNoHandler = errors.New("the handler is nil")

// tell returns a function that tells a handler of events.
func tell(handler clientcache.ResourceEventHandler) func(informer.Event[any]) {
	return func(e informer.Event[any]) {
		switch {
		case e.Type == informer.Add:
			handler.OnAdd(e.New, e.InInitialList)
		case e.Type == informer.Update:
			handler.OnUpdate(e.Old, e.New)
		case e.FinalStateUnknown:
			handler.OnDelete(clientcache.DeletedFinalStateUnknown{Key: e.Key, Obj: e.Final})
		default:
			handler.OnDelete(e.Final)
		}
	}
}

// RemoveEventHandler takes a handler away. It does not wait for a call that is under way.
// It may be repeated; another informer's handlers are left alone.
func (s *sharedIndexInformer) RemoveEventHandler(handle clientcache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("invalid key type %T", handle)
	}
	if r.informer == s {
		r.handler.Cancel()
	}
	return nil
}

// registration is a handler at an informer.
type registration struct {
	handler  *informer.Handler[any]
	informer *sharedIndexInformer
	name     string
}

// HasSynced tells whether the handler's calls have returned for the whole initial list, or
// for what was there when it was added.
func (r *registration) HasSynced() bool { return r.handler.HasSynced() }

// HasSyncedChecker is done once HasSynced.
func (r *registration) HasSyncedChecker() clientcache.DoneChecker {
	return doneChecker{
		name: func() string { return r.informer.name() + " + event handler " + r.name },
		done: r.handler.Synced(),
	}
}

// ShutdownChan is closed once the handler is not called any more:
// clientcache.ShutDownEventHandler asks for it.
func (r *registration) ShutdownChan() <-chan struct{} { return r.handler.Done() }
