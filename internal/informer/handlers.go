package informer

import (
	"fmt"
	"slices"
)

// Add adds a handler. Before Run it is told everything from the beginning; while the
// informer runs, what the store holds, and then what changes. After that it is an
// error: ErrStopped.
func (i *Informer[V]) Add(config HandlerConfig[V]) (*Handler[V], error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.life > started || i.ctx != nil && i.ctx.Err() != nil {
		return nil, fmt.Errorf("handler %s was not added to %s: %w", config.Name, i.name, ErrStopped)
	}
	h := newHandler(config, i)
	i.handlers = append(slices.Clone(i.handlers), h)
	if i.life == started {
		i.start(h)
	}
	return h, nil
}

// start starts a handler. mu is held.
func (i *Informer[V]) start(h *Handler[V]) {
	i.running[h] = struct{}{}
	h.start(i.ctx)
	i.log.AlarmAt(h.lag.reached.Load() + i.threshold())
}

// remove ends a handler's delivery, whether it is running, has ended, or was never
// started.
func (i *Informer[V]) remove(h *Handler[V]) {
	i.mu.Lock()
	at := slices.Index(i.handlers, h)
	if at >= 0 {
		i.handlers = slices.Delete(slices.Clone(i.handlers), at, at+1)
	}
	_, runs := i.running[h]
	switch {
	case runs:
		h.cancel()
	case at >= 0 && h.cancel == nil: // it never had a goroutine to end
		close(h.done)
	}
	i.mu.Unlock()
	if runs { // not under mu: the handler's lock may be held while objects are decoded
		h.release()
	}
}

// ended notes that a handler's goroutine makes no call any more.
func (i *Informer[V]) ended(h *Handler[V]) {
	h.release()
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.running, h)
	close(h.done)
}

// current returns the handlers. The slice is not changed any more.
func (i *Informer[V]) current() []*Handler[V] {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.handlers
}

// Handlers returns the condition of each handler.
func (i *Informer[V]) Handlers() []HandlerStatus {
	handlers := i.current()
	conditions := make([]HandlerStatus, 0, len(handlers))
	for _, h := range handlers {
		conditions = append(conditions, h.Status())
	}
	return conditions
}
