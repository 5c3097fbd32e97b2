package cluster

import "testing"

// New starts a cluster that ends with the test. If the test fails by then, the ends of the servers' logs are in its output,
// and the logs themselves stay.
func New(tb testing.TB, options Options) *Cluster {
	tb.Helper()
	c, err := Start(tb.Context(), options)
	if err != nil {
		tb.Fatalf("start a cluster: %v", err)
	}
	tb.Cleanup(func() { c.finish(tb) })
	return c
}

// finish ends the servers in any case, and removes the logs only if nobody will want to look into them.
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

// ShowLogs puts the ends of the servers' logs into the test's output.
func (c *Cluster) ShowLogs(tb testing.TB) {
	tb.Helper()
	for _, s := range []*Server{c.etcdServer, c.apiServer} {
		tb.Logf("%s, the end of %s:\n%s", s.name, s.log, tail(s.log))
	}
}
