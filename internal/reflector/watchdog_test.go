package reflector

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/feed"
)

// quietSource lists nothing, and its watches say nothing: they end, as in order, when
// their context does.
type quietSource struct {
	versions []string // of the lists; the last is that of all further ones
	lists    int
}

func (s *quietSource) List(context.Context, metav1.ListOptions, func(feed.Item) error) (metav1.ListMeta, error) {
	version := s.versions[min(s.lists, len(s.versions)-1)]
	s.lists++
	return metav1.ListMeta{ResourceVersion: version}, nil
}

func (s *quietSource) Watch(ctx context.Context, _ metav1.ListOptions, events feed.WatchSink) error {
	events.Opened()
	<-ctx.Done()
	return nil
}

// noSink takes states of nothing.
type noSink struct{ feed.Sink }

func (noSink) Begin() feed.Replacement { return noReplacement{} }
func (noSink) Quarantined() int        { return 0 }

type noReplacement struct{ feed.Replacement }

func (noReplacement) Distrust()           {}
func (noReplacement) Commit(string) error { return nil }

// What the watchdog found out is why the watch ended, also where the source returns as
// if the server had closed the stream: with both at once, it cannot tell.
func TestTheWatchdogsWordIsTheLast(t *testing.T) {
	for name, c := range map[string]struct {
		versions []string
		want     error
	}{
		"silent":    {[]string{"5"}, ErrStalled},
		"went back": {[]string{"5", "3"}, ErrVersionRegressed}, // says the probe of the second watch
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				errs := make(chan error, 100)
				r := New(Config{Source: &quietSource{versions: c.versions}, Sink: noSink{}, Report: func(_ context.Context, err error) { errs <- err }})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- r.Run(ctx) }()
				<-time.After(30 * time.Minute)
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				close(errs)
				for err := range errs {
					if errors.Is(err, c.want) {
						return
					}
				}
				t.Errorf("nobody heard of: %v", c.want)
			})
		})
	}
}
