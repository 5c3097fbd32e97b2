package faults_test

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// A server that says nothing for two minutes is asked before half a minute more has passed, however long the watch may
// be, and asked again if it could not answer (W28).
func TestRestoreIsSeenInTime(t *testing.T) {
	for _, sync := range []cache.ListMode{cache.ListModeList, cache.ListModeWatchList} {
		t.Run(string(sync), func(t *testing.T) {
			cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{ListMode: sync}, func(r *cachetest.Harness) {
				ahead(r)
				r.InjectListFault(1, fake.Fault{Err: apierrors.NewServiceUnavailable("starting")})
				r.Restore("4")
				cachetest.Advance(3*time.Minute + 15*time.Second)
				expectRestored(r)
			})
		})
	}
}
