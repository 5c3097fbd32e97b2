// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"time"
)

// memoryPeriod is the time between two looks at the memory of a child process.
const memoryPeriod = 100 * time.Millisecond

// watchMemory kills a child process that takes more than MaxMemory. The caller must call stop after
// the end of the process.
func (c Child) watchMemory(pid int, kill context.CancelCauseFunc) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(memoryPeriod)
		defer ticker.Stop()
		for {
			if resident := residentMemory(pid); resident > c.MaxMemory {
				kill(fmt.Errorf("killed with %d MB of memory, as it may take %d MB on this machine", resident/1e6, c.MaxMemory/1e6))
				return
			}
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}
