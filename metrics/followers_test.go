// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

// TestFollowerHasSeries checks that a follower has one set of series, with every result from the
// start, and none once it has stopped.
func TestFollowerHasSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close(context.WithoutCancel(t.Context()))
		config := server.Config()
		cache.EnableStreaming(config)
		newFollower := func() *follow.Follower {
			return follow.New(metadata.NewForConfigOrDie(config), discovery.NewDiscoveryClientForConfigOrDie(config), follow.Options{})
		}
		first, second, invalid := newFollower(), newFollower(), follow.New(nil, nil, follow.Options{})
		registry := register(first, second, first, invalid)
		results := func(informer string) string {
			labels := `informer="` + informer + `",kind="",result=`
			return labels + `"Changed" ` + labels + `"Failed" ` + labels + `"Unchanged"`
		}
		const name = "CustomResourceDefinition"
		expectSeries(t, registry, "kinformer_discovery_requests_total", results(name)+" "+results(name+"#2"))
		expectSeries(t, registry, "kinformer_discovery_answered_timestamp_seconds", "")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- cache.RunAll(ctx, first.Run, second.Run) }()
		<-time.After(130 * time.Second)
		text, status := scrape(t, registry), second.Status()
		if status.Unchanged < 7 || status.Changed != 1 {
			t.Errorf("status %+v", status)
		}
		for _, line := range []string{
			`kinformer_discovery_requests_total{informer="CustomResourceDefinition",kind="",result="Changed"} 1`,
			`kinformer_discovery_requests_total{informer="CustomResourceDefinition",kind="",result="Failed"} 0`,
			fmt.Sprint(`kinformer_discovery_requests_total{informer="CustomResourceDefinition#2",kind="",result="Unchanged"} `, status.Unchanged),
			fmt.Sprint(`kinformer_discovery_answered_timestamp_seconds{informer="CustomResourceDefinition#2",kind=""} `, float64(status.AnsweredAt.UnixMilli())/1000),
		} {
			if strings.Count(text, line+"\n") != 1 {
				t.Errorf("no or several lines %s in\n%s", line, text)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if text := scrape(t, registry); strings.Contains(text, "kinformer_discovery") {
			t.Errorf("series of followers that have stopped:\n%s", text)
		}
	})
}
