// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests the alerts and the dashboard of package metrics, and the queries of
// docs/observing.md, with Prometheus' own parsers and engine.
package monitoring
