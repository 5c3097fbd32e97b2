// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"slices"

	"github.com/kinformer/kinformer/internal/viewnames"
)

// Add adds a handler. Before Run, the handler receives every change from the beginning. While
// the informer runs, it receives the stored objects first and then every later change. After
// that, Add returns ErrStopped.
func (i *Informer) Add(config HandlerConfig) (*Handler, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.returned.Load() || i.ctx != nil && i.ctx.Err() != nil {
		return nil, fmt.Errorf("add handler %s to %s: %w", config.Name, i.config.Name, ErrStopped)
	}
	h := newHandler(config, i)
	i.handlers = append(slices.Clone(i.handlers), h)
	if i.ctx != nil {
		i.startHandler(h)
	}
	return h, nil
}

// startHandler starts a handler. The caller must hold mu.
func (i *Informer) startHandler(h *Handler) {
	i.running[h] = struct{}{}
	h.start(i.ctx)
	i.log.AlarmAt(h.lag.delivered.Load() + i.threshold())
}

// cancelHandler ends a handler's delivery, whether it is running, is done, or was never started.
func (i *Informer) cancelHandler(h *Handler) {
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
func (i *Informer) handlerDone(h *Handler) {
	h.release()
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.running, h)
	close(h.done)
	i.status.signal()
}

// currentHandlers returns the handlers. The slice is never modified.
func (i *Informer) currentHandlers() []*Handler {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.handlers
}

// Handlers returns the status of each handler.
func (i *Informer) Handlers() []HandlerStatus {
	handlers := i.currentHandlers()
	i.nameHandlers(handlers) // together: two of one name may be removed meanwhile
	statuses := make([]HandlerStatus, 0, len(handlers))
	for _, h := range handlers {
		statuses = append(statuses, h.Status())
	}
	return statuses
}

// uniqueName returns the handler's name that no other handler of its informer has.
func (h *Handler) uniqueName() string {
	if name := h.unique.Load(); name != nil {
		return *name
	}
	h.informer.nameHandlers(append(slices.Clip(h.informer.currentHandlers()), h))
	return *h.unique.Load()
}

func (h *Handler) unnamed() bool { return h.unique.Load() == nil }

// nameHandlers gives each handler a name that no other one has.
func (i *Informer) nameHandlers(handlers []*Handler) {
	if !slices.ContainsFunc(handlers, (*Handler).unnamed) {
		return
	}
	i.naming.Lock()
	defer i.naming.Unlock()
	taken := make(map[string]bool)
	for _, h := range handlers {
		if name := h.unique.Load(); name != nil {
			taken[*name] = true
		}
	}
	for _, h := range handlers {
		if h.unnamed() {
			name := viewnames.Free(h.config.Name, func(name string) bool { return taken[name] })
			taken[name] = true
			h.unique.Store(&name)
		}
	}
}
