// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "testing"

// New starts a cluster and stops it at the end of the test. If the test has failed, the last lines
// of the servers' logs are printed, and the logs are kept.
func New(tb testing.TB, options Options) *Cluster {
	tb.Helper()
	c, err := Start(tb.Context(), options)
	if err != nil {
		tb.Fatalf("start a cluster: %v", err)
	}
	tb.Cleanup(func() { c.finish(tb) })
	return c
}

// finish stops the servers, and removes their logs unless the test has failed.
func (c *Cluster) finish(tb testing.TB) {
	tb.Helper()
	stop := c.Stop
	if tb.Failed() {
		c.ShowLogs(tb)
		stop = c.StopKeepingLogs
	}
	if err := stop(); err != nil {
		tb.Errorf("stop the cluster: %v", err)
	}
}

// ShowLogs prints the last lines of the servers' logs to the test's output.
func (c *Cluster) ShowLogs(tb testing.TB) {
	tb.Helper()
	for _, s := range c.servers() {
		tb.Logf("%s, the end of %s:\n%s", s.name, s.log, tail(s.log))
	}
}
