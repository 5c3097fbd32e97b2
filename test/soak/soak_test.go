// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package soak_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

var (
	duration = flag.Duration("soak.for", 5*time.Second, "how long the run lasts; the last cycle may end later")
	seed     = flag.Uint64("soak.seed", 1, "the seed of the changes and faults; their timing is that of the machine")
)

const (
	// churnTime is the time of a cycle in which objects change and faults are injected.
	churnTime = time.Minute
	// healing is how long the stores may take to become equal to the server after that. A watch
	// whose connection is dead before the first bookmark is given up when it should have ended.
	healing = 16 * time.Minute
	// recoveryStep is how often the stores are compared with the server.
	recoveryStep = 200 * time.Millisecond
)

func TestMain(m *testing.M) {
	flag.Parse()
	utilruntime.ReallyCrash = false // some handlers panic
	utilruntime.PanicHandlers = nil
	klog.SetLogger(logr.Discard())
	goroutines.VerifyTestMain(m)
}

// soak is one run.
type soak struct {
	t         *testing.T
	server    *fake.APIServer
	truth     *truth
	faults    *faults
	informers []*subject
	samples   []sample
	began     time.Time
}

// TestInformersSurviveFaults runs cycles until the time is over.
func TestInformersSurviveFaults(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{TLS: true, BookmarkPeriod: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	s := &soak{t: t, server: server, truth: newTruth(server, random), began: time.Now()}
	s.truth.change(objects) // most of the objects exist from the start
	s.faults = &faults{Rand: random, server: server}
	for _, k := range kinds {
		s.informers = append(s.informers, startSubject(t, server, k))
	}
	s.printHeader()
	for !t.Failed() && time.Since(s.began) < *duration {
		s.cycle(min(*duration-time.Since(s.began), churnTime))
	}
	s.checkSamples()
	s.end()
}

// cycle injects faults for d, replaces an informer, and checks that all informers recover.
func (s *soak) cycle(d time.Duration) {
	for _, i := range s.informers {
		i.block()
	}
	s.churn(d)
	replaced := s.informers[s.truth.IntN(len(s.informers))]
	replaced.stop()
	replaced.start()
	s.faults.heal()
	for _, i := range s.informers {
		i.release()
	}
	healed := time.Now()
	for difference := "?"; difference != ""; <-time.After(recoveryStep) {
		if difference = s.difference(); time.Since(healed) > healing {
			s.t.Fatalf("%v after the last fault: %s", healing, difference)
		}
	}
	s.measure(time.Since(healed))
}

// churn changes objects and injects faults. Now and then the informers' handlers come and go. A
// full cycle begins with so many changes that those of a blocked handler are coalesced.
func (s *soak) churn(d time.Duration) {
	if d == churnTime {
		s.truth.change(flood)
	}
	for end := time.Now().Add(d); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		s.truth.change(changes)
		switch {
		case s.truth.IntN(15) == 0:
			s.faults.inject(s.informers, d)
		case s.truth.IntN(100) == 0:
			s.informers[s.truth.IntN(len(s.informers))].exchangeHandler()
		}
	}
}

// difference describes a difference between the server and a store, or a store and a handler. It
// is empty if there is none.
func (s *soak) difference() string {
	for _, i := range s.informers {
		if difference := i.difference(s.truth.versions); difference != "" {
			return fmt.Sprintf("%s: %s: %+v", i.name, difference, i.informer.Status())
		}
	}
	return ""
}

func (s *soak) end() {
	for _, i := range s.informers {
		i.stop()
	}
	if err := s.server.Close(context.Background()); err != nil {
		s.t.Error(err)
	}
}

func (s *soak) printHeader() {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	s.print("%v with seed %d, %s, %d processors, %d Pods over HTTPS\ninformers: %s\nhandlers of each: %s\n"+
		"calls and coalesced events are those of the handlers at the end of a cycle; informers and handlers are replaced now and then\n", *duration, *seed,
		runtime.Version(), runtime.GOMAXPROCS(0), objects, strings.Join(names, ", "), strings.Join(paces, ", "))
}

// print writes a line of the report.
func (s *soak) print(format string, arguments ...any) {
	fmt.Fprintf(s.t.Output(), format+"\n", arguments...)
}
