package informer

import (
	"context"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/reflector"
)

// Who hears of an error may stop a handler and wait for that, whoever it is that meets
// it: not the steward, who reads under that handler's lock.
func TestHandlerIsStoppedByWhoHearsOfAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := stringStore(true)
		var stuck *Handler[string]
		stops := make(chan error, 10)
		config.Report = func(string, error) { stops <- stuck.Stop(t.Context()) }
		source := &script{list: []string{"a=1"}, version: "10", events: make(chan scripted)}
		s := &scene{t: t, source: source, Informer: New(Config[string]{
			Name: "strings", Store: config, Reflector: reflector.Config{Source: source}, CoalesceThreshold: 2,
			Terminating: func(string) bool { return false },
		})}
		resume := make(chan struct{})
		stuck = s.add(HandlerConfig[string]{Name: "stuck", OnEvent: func(Event[string]) { <-resume }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		s.send(watch.Added, "b=1", "11")
		s.send(watch.Modified, "b=2", "12")
		s.send(watch.Modified, "b=3", "13")
		s.send(watch.Modified, "b=corrupt", "14")
		if len(stops) != 0 {
			t.Error("the steward has reported an object that cannot be unpacked")
		}
		close(resume)
		synctest.Wait()
		<-stuck.Done()
		if len(stops) == 0 {
			t.Error("nobody has reported the object that cannot be unpacked")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for range len(stops) {
			if err := <-stops; err != nil {
				t.Error(err)
			}
		}
	})
}
