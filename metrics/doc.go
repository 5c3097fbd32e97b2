// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics exports the status of informers to Prometheus:
//
//	registry.MustRegister(metrics.NewCollector(pods, factory))
//
// It is a module of its own, so that only the programs that use it require Prometheus' client.
//
// docs/observing.md lists the metrics, alerts.yaml has alerts and dashboard.json a dashboard for
// Grafana.
//
// # Labels
//
// The label informer is the informer's unique name ([cache.View.UniqueName]): its Name, or "Name#2"
// and so on if another informer of the process has that name. Give informers names (the option
// Name, or client-go's ObjectDescription) if the program has several of one type, as "#2" only says
// which one was seen later. kind is the kind of the objects, or empty if it is not known. handler
// is the handler's name, with "#2" in the same way. No label or value has the name or content of a
// cached object, or the text of an error.
//
// An informer has series from the time it is made until it stops: at most 22 while it is healthy,
// seven for each handler, and one for each index. Counters of alerts are exported from zero, so
// that rate and increase see the first occurrence after the first scrape. Codes of requests and
// reasons for relists appear when they occur, and the phase is one series, whose label changes.
//
// An informer that uses the Scopes of a shard.Member adds the member's series while the member
// runs: 19, once for all informers. Their labels are group and member, which is the member's
// Identity. No label is a slot, of which there may be 4,096: the series of objects are those of the
// member, and of its slot with most of them. The debug page and shard.Status have each slot. If a
// program has members of several clusters, give their groups different names: of two members with
// the same labels, one has series.
//
// A follow.Follower (see [NewCollector]) has, beside the series of its two informers, four of
// its discovery requests, with the labels of its informer of CustomResourceDefinitions.
//
// # Freshness
//
// kinformer_staleness_seconds is the time since the last proof that the store was up to date: an
// event, a bookmark or a list. It is measured at the scrape, and includes time for which the
// machine was suspended. In a quiet collection the proofs are bookmarks, about one a minute, so a
// staleness of some minutes says that the watch is broken. If the server sends no bookmarks, the
// metric says nothing.
//
// # Metrics of client-go
//
// reflector_lists_total, reflector_watches_total and reflector_last_resource_version, with the
// label name, are those of client-go's reflectors, as programs exported them by
// SetReflectorMetricsProvider. client-go still defines them, but no longer updates them. The other
// five of its reflector metrics are the durations of lists and watches, the numbers of items in
// them, and the number of short watches, which kinformer does not measure.
//
// informer_queued_items, informer_processing_latency_seconds and informer_store_resource_version
// are client-go's current ones. k8s.io/component-base registers them, so that a Collector must not:
// a name can be registered once. An informer of package clientgo updates them through client-go's
// InformerMetricsProvider if the program has given it an Identifier, or its factory an
// InformerName, as one of client-go does. The Collector has the same in
// kinformer_handler_backlog_events, kinformer_handler_call_seconds_total and
// reflector_last_resource_version, for every informer. Likewise, rest_client_requests_total of
// component-base and controller-runtime counts all requests of a client, and
// kinformer_requests_total those of an informer.
//
// The names above that begin with reflector_ are free in the registries of component-base and
// controller-runtime. Where another collector has registered them, a prefix avoids the clash. It
// renames all metrics of the Collector, also for alerts.yaml and dashboard.json:
//
//	prometheus.WrapRegistererWithPrefix("myprogram_", registry).MustRegister(collector)
package metrics
