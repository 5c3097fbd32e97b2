// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
)

// startSource is an API server whose watch cache is at version 120, and etcd at 163: only a list at
// "0" is of the older state. It records the versions of lists, and probes as "probe".
type startSource struct {
	scriptedSource
	probe    func() (version string, items int, err error)
	token    string // of the answer to a probe
	requests []string
}

func (s *startSource) List(_ context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	if options.Limit == 1 && options.ResourceVersion == "" {
		s.requests = append(s.requests, "probe")
		version, items, err := s.probe()
		for range items {
			if err := add(feed.Item{Key: "a", ResourceVersion: "7", Raw: []byte("{}")}); err != nil {
				return metav1.ListMeta{}, err
			}
		}
		return metav1.ListMeta{ResourceVersion: version, Continue: s.token}, err
	}
	s.requests = append(s.requests, cmp.Or(options.ResourceVersion, "most recent"))
	if options.ResourceVersion == "0" {
		return metav1.ListMeta{ResourceVersion: "120"}, nil
	}
	return metav1.ListMeta{ResourceVersion: "163"}, nil
}

// answers returns a probe's answer.
func answers(version string, items int, err error) func() (string, int, error) {
	return func() (string, int, error) { return version, items, err }
}

// afterFailure returns a probe that fails once.
func afterFailure(err error) func() (string, int, error) {
	return func() (version string, items int, failed error) {
		failed, err = err, nil
		return "163", 1, failed
	}
}

// TestFirstListIsNotOlderThanTheMostRecentState checks the requests of a start: a probe, and a list
// not older than its version. A server that answers the probe with more than a page, without a
// version or with a refusal is asked for the most recent state, and so is one whose list is older
// than requested; one that is busy or broken, for another probe.
func TestFirstListIsNotOlderThanTheMostRecentState(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
	broken := apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
	for name, c := range map[string]struct {
		probe     func() (string, int, error)
		any       bool
		fake      bool
		watchList bool
		whole     bool
		want      string
	}{
		"a page":               {probe: answers("163", 1, nil), want: "probe 163"},
		"no object":            {probe: answers("163", 0, nil), want: "probe 163"},
		"a larger page":        {probe: answers("163", 2, nil), want: "probe 163"},
		"the limit is ignored": {probe: answers("163", 2, nil), whole: true, want: "probe"},
		"… without a version":  {probe: answers("", 2, nil), whole: true, want: "probe"},
		"no version":           {probe: answers("", 1, nil), want: "probe most recent"},
		"another version":      {probe: answers("abc", 1, nil), want: "probe most recent"},
		"403":                  {probe: answers("", 0, forbidden), want: "probe most recent"},
		"400":                  {probe: answers("", 0, apierrors.NewBadRequest("limit")), want: "probe most recent"},
		"an older list":        {probe: answers("170", 1, nil), want: "probe 170 most recent"},
		"429":                  {probe: afterFailure(apierrors.NewTooManyRequests("busy", 1)), want: "probe probe 163"},
		"500":                  {probe: afterFailure(broken), want: "probe probe 163"},
		"502":                  {probe: afterFailure(apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", schema.GroupResource{}, "", "", 0, true)), want: "probe probe 163"},
		"503":                  {probe: afterFailure(apierrors.NewServiceUnavailable("starting")), want: "probe probe 163"},
		"connection refused":   {probe: afterFailure(syscall.ECONNREFUSED), want: "probe probe 163"},
		"any state":            {any: true, want: "0"},
		"fake of client-go":    {fake: true, want: "0"},
		"WatchList":            {watchList: true, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			source := &startSource{probe: c.probe, scriptedSource: scriptedSource{traits: feed.Traits{Fake: c.fake}, watches: watches{idleWatch}}}
			if source.token = "more"; c.whole {
				source.token = ""
			}
			config := Config{Source: source, Start: NewStart(nil), WatchList: always(c.watchList)}
			if c.any {
				config.Start = nil
			}
			runFor(t, 20*time.Second, config)
			if got := strings.Join(source.requests, " "); got != c.want {
				t.Errorf("requests [%s], want [%s]", got, c.want)
			}
		})
	}
}

// TestProbeOfTheStartHasADeadline checks that a probe without an answer is given up and reported.
func TestProbeOfTheStartHasADeadline(t *testing.T) {
	source := &hangingSource{}
	reported := runFor(t, probeTimeout+time.Second, Config{Source: source, Start: NewStart(nil)})
	if len(reported) != 1 || !errors.Is(reported[0], ErrStalled) {
		t.Errorf("reported %v, want %v", reported, ErrStalled)
	}
}

// hangingSource answers no list.
type hangingSource struct{ scriptedSource }

func (*hangingSource) List(ctx context.Context, _ metav1.ListOptions, _ func(feed.Item) error) (metav1.ListMeta, error) {
	<-ctx.Done()
	return metav1.ListMeta{}, ctx.Err()
}

// TestOneProbeForAllReflectorsOfAStart checks that reflectors with one Start wait for one probe,
// that its failure is that of all that wait, and that a later one needs none.
func TestOneProbeForAllReflectorsOfAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := NewStart(nil)
		failure := errors.New("busy")
		asked := 0
		probe := func(version string, err error) probeFunc {
			return func(context.Context) (startAnswer, error) {
				asked++
				<-time.After(time.Second) // in the bubble
				return startAnswer{version: version}, err
			}
		}
		for _, c := range []struct {
			version string
			err     error
			asked   int
		}{{"", failure, 1}, {"163", nil, 2}, {"163", nil, 2}} {
			for range 3 {
				go func() {
					answer, err := start.get(t.Context(), clock.RealClock{}, probe(c.version, c.err))
					if answer.version != c.version || !errors.Is(err, c.err) {
						t.Errorf("version %q, error %v, want %q, %v", answer.version, err, c.version, c.err)
					}
				}()
			}
			<-time.After(time.Minute)
			synctest.Wait()
			if asked != c.asked {
				t.Errorf("%d probes, want %d", asked, c.asked)
			}
		}
	})
}
