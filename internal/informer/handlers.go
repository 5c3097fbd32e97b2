package informer

import (
	"fmt"
	"slices"

	"github.com/kinformer/kinformer/internal/viewnames"
)

// Add adds a handler. Before Run, the handler receives every change from the beginning. While
// the informer runs, it receives the stored objects first and then every later change. After
// that, Add returns ErrStopped.
func (i *Informer[V]) Add(config HandlerConfig[V]) (*Handler[V], error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.phase > started || i.ctx != nil && i.ctx.Err() != nil {
		return nil, fmt.Errorf("add handler %s to %s: %w", config.Name, i.name, ErrStopped)
	}
	h := newHandler(config, i)
	i.handlers = append(slices.Clone(i.handlers), h)
	if i.phase == started {
		i.startHandler(h)
	}
	return h, nil
}

// startHandler starts a handler. The caller must hold mu.
func (i *Informer[V]) startHandler(h *Handler[V]) {
	i.running[h] = struct{}{}
	h.start(i.ctx)
	i.log.AlarmAt(h.lag.delivered.Load() + i.threshold())
}

// cancelHandler ends a handler's delivery, whether it is running, is done, or was never started.
func (i *Informer[V]) cancelHandler(h *Handler[V]) {
	i.mu.Lock()
	at := slices.Index(i.handlers, h)
	if at >= 0 {
		i.handlers = slices.Delete(slices.Clone(i.handlers), at, at+1)
	}
	_, running := i.running[h]
	switch {
	case running:
		h.cancel()
	case at >= 0 && h.cancel == nil: // never started
		close(h.done)
	}
	i.mu.Unlock()
	if running { // not under mu: the handler's lock may be held while objects are decoded
		h.release()
	}
}

// handlerDone records that a handler's goroutine makes no further call.
func (i *Informer[V]) handlerDone(h *Handler[V]) {
	h.release()
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.running, h)
	close(h.done)
}

// currentHandlers returns the handlers. The slice is never modified.
func (i *Informer[V]) currentHandlers() []*Handler[V] {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.handlers
}

// Handlers returns the status of each handler.
func (i *Informer[V]) Handlers() []HandlerStatus {
	handlers := i.currentHandlers()
	names := i.uniqueNames(handlers)
	statuses := make([]HandlerStatus, 0, len(handlers))
	for n, h := range handlers {
		status := h.Status()
		status.UniqueName = names[n]
		statuses = append(statuses, status)
	}
	return statuses
}

// uniqueNames returns names of handlers that are different. A handler keeps its own.
func (i *Informer[V]) uniqueNames(handlers []*Handler[V]) []string {
	i.namesMu.Lock()
	defer i.namesMu.Unlock()
	if slices.ContainsFunc(handlers, func(h *Handler[V]) bool { return h.uniqueName == "" }) {
		nameHandlers(handlers)
	}
	names := make([]string, len(handlers))
	for n, h := range handlers {
		names[n] = h.uniqueName
	}
	return names
}

// nameHandlers gives a name to those that have none.
func nameHandlers[V any](handlers []*Handler[V]) {
	taken := make(map[string]bool, len(handlers))
	for _, h := range handlers {
		taken[h.uniqueName] = true
	}
	for _, h := range handlers {
		if h.uniqueName == "" {
			h.uniqueName = viewnames.Free(h.config.Name, func(name string) bool { return taken[name] })
			taken[h.uniqueName] = true
		}
	}
}
