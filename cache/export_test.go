package cache

import "time"

// NewInformerWithOptions is NewInformer with the options of its reflector, which
// the tests need in order to hear of errors and to ask for a WatchList.
func NewInformerWithOptions[T Object](lw ListerWatcher, example T, resyncPeriod time.Duration, handler ResourceEventHandler[T], options ReflectorOptions) (Reader[T], *Controller) {
	return newInformer(lw, example, resyncPeriod, handler, options)
}
