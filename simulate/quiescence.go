// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"runtime"
	"runtime/metrics"
)

// quiescence detects the moments at which every goroutine of the process is blocked.
//
// testing/synctest's Wait does not serve here: it waits for goroutines that are blocked by a mutex,
// which the bubble does not count as durably blocked, and so for ever if the holder of the mutex
// waits for a response. With one processor, a process without a runnable goroutine is quiescent.
type quiescence []metrics.Sample

func newQuiescence() quiescence {
	return quiescence{{Name: "/sched/goroutines/runnable:goroutines"}}
}

// wait yields until no other goroutine is runnable. GOMAXPROCS must be 1.
func (q quiescence) wait() {
	for {
		runtime.Gosched()
		metrics.Read(q)
		if q[0].Value.Uint64() == 0 {
			return
		}
	}
}
