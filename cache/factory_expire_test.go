// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"testing"
)

// idleInformer is an informer that does nothing.
type idleInformer struct{ factoryInformer }

func (idleInformer) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// An idle informer whose IdleTimeout passes at the moment of its next use is kept, also if it is
// idle again by then.
func TestInformerUsedAsItsIdleTimeoutPassesIsKept(t *testing.T) {
	for name, use := range map[string]func(f *Factory, entry *factoryEntry){
		"used":       func(_ *Factory, entry *factoryEntry) { entry.use() },
		"idle again": func(f *Factory, entry *factoryEntry) { entry.use(); f.release(entry) },
	} {
		t.Run(name, func(t *testing.T) {
			f := NewFactory(FactoryOptions{})
			ctx, cancel := context.WithCancel(t.Context())
			if err := f.begin(ctx); err != nil {
				t.Fatal(err)
			}
			entry := f.add(informerKey{}, idleInformer{})
			entry.use()
			f.release(entry)
			passed := entry.reused
			use(f, entry)
			f.expire(entry, passed)
			if len(f.entries) != 1 {
				t.Error("an informer was removed that has been used since it became idle")
			}
			cancel()
			f.running.Wait()
		})
	}
}
