// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/shard"
)

// family is a name with its help, type and labels.
type family struct {
	name, help string
	isCounter  bool
	labels     []string
	desc       *prometheus.Desc
}

func gauge(name, help string, labels ...string) *family {
	return &family{name, help, false, labels, prometheus.NewDesc(name, help, labels, nil)}
}

func counter(name, help string, labels ...string) *family {
	return &family{name, help, true, labels, prometheus.NewDesc(name, help, labels, nil)}
}

// families returns all families, in the order of the documentation.
func families() (all []*family) {
	all = append(all, phaseFamily)
	for _, f := range informerFamilies {
		all = append(all, f.family)
	}
	all = append(all, relistReasonsFamily, requestsFamily, indexErrorsFamily)
	for _, f := range handlerFamilies {
		all = append(all, f.family)
	}
	for _, f := range memberFamilies {
		all = append(all, f.family)
	}
	all = append(all, takenFamily, lostFamily, discoveryFamily, discoveryAnsweredFamily)
	for _, f := range reflectorFamilies {
		all = append(all, f.family)
	}
	return all
}

//nolint:gochecknoglobals // constants
var (
	phaseFamily = gauge("kinformer_phase",
		"1 for the phase that the informer is in. An invalid informer has no other metric.", "informer", "kind", "phase")
	relistReasonsFamily = counter("kinformer_relist_reasons_total",
		"kinformer_relists_total by reason, for the reasons that have occurred.", "informer", "kind", "reason")
	requestsFamily = counter("kinformer_requests_total",
		"Requests by verb (LIST, WATCH) and HTTP status code, for those that have occurred; <error> is a request without a response.",
		"informer", "kind", "verb", "code")
	indexErrorsFamily = counter("kinformer_index_errors_total",
		"How often the function of an index failed or panicked. The store has the object, and the index does not.", "informer", "kind", "index")
)

//nolint:gochecknoglobals // constants
var (
	discoveryFamily = counter("kinformer_discovery_requests_total",
		"Requests of a follower for what the server serves, by result: Changed, Unchanged or Failed. informer is that of CustomResourceDefinitions.",
		"informer", "kind", "result")
	discoveryAnsweredFamily = gauge("kinformer_discovery_answered_timestamp_seconds",
		"Unix time of the last successful request of a follower for what the server serves. Absent before the first.",
		"informer", "kind")
)

// statusFamily is a family with one metric of an informer, or none.
type statusFamily struct {
	*family

	value func(*cache.Status) (value float64, ok bool)
}

// always returns a value that an informer always has.
func always(value func(*cache.Status) float64) func(*cache.Status) (float64, bool) {
	return func(s *cache.Status) (float64, bool) { return value(s), true }
}

// count returns a number that an informer always has.
func count[N int | int64 | uint64](value func(*cache.Status) N) func(*cache.Status) (float64, bool) {
	return func(s *cache.Status) (float64, bool) { return float64(value(s)), true }
}

var informerFamilies = []statusFamily{ //nolint:gochecknoglobals // a constant
	{
		gauge("kinformer_synced", "Whether the initial list has been stored (1) or not (0).", "informer", "kind"),
		always(func(s *cache.Status) float64 { return boolean(s.Synced) }),
	},
	{
		gauge("kinformer_staleness_seconds", "Time since an event, a bookmark or a list last confirmed that the store is up to date, "+
			"by the informer's clock. The store may lack changes of this time. Absent before the first list.", "informer", "kind"),
		func(s *cache.Status) (float64, bool) {
			return s.Freshness.Staleness.Seconds(), !s.Freshness.FreshAt.IsZero()
		},
	},
	{
		gauge("kinformer_failed_attempts", "Attempts to list or watch that failed since one succeeded.", "informer", "kind"),
		count(func(s *cache.Status) int { return s.FailedAttempts }),
	},
	{
		gauge("kinformer_objects", "Objects in the store.", "informer", "kind"),
		count(func(s *cache.Status) int { return s.Store.Objects }),
	},
	{
		gauge("kinformer_packed_bytes", "Size of the packed objects in the store, without what they share. 0 if they are not packed.", "informer", "kind"),
		count(func(s *cache.Status) int64 { return s.Store.PackedBytes }),
	},
	{
		gauge("kinformer_not_stored_objects", "Objects whose newest state could not be stored, those without a readable name included. "+
			"The store has their last good state, or none.", "informer", "kind"),
		count(func(s *cache.Status) int { return s.Store.Quarantined + s.Store.Unnamed }),
	},
	{
		counter("kinformer_changes_total", "Changes made to the store: additions, updates and deletions.", "informer", "kind"),
		count(func(s *cache.Status) uint64 { return s.Store.Changes }),
	},
	{
		gauge("kinformer_list_received_objects", "Objects that the list in progress has brought so far. 0 if no list is in progress.", "informer", "kind"),
		count(func(s *cache.Status) int { return s.Requests.Received }),
	},
	{
		counter("kinformer_watch_restarts_total", "Watches that were opened to resume an earlier one, which the server had closed or whose connection had broken.", "informer", "kind"),
		count(func(s *cache.Status) uint64 { return s.Requests.WatchRestarts }),
	},
	{
		counter("kinformer_relists_total", "How often the collection had to be listed again after a watch.", "informer", "kind"),
		count(func(s *cache.Status) uint64 { return sum(s.Requests.Relists, func(string) bool { return true }) }),
	},
	{
		counter("kinformer_failed_requests_total", "Requests without a response, or with another code than 2xx and 410: a server answers a watch "+
			"with 410 if its history is too short.", "informer", "kind"),
		count(func(s *cache.Status) uint64 { return sum(s.Requests.Results, hasFailed) }),
	},
	{
		gauge("kinformer_streaming", "Whether responses are read from the stream (1) or decoded by the client (0). Absent before it is known.", "informer", "kind"),
		func(s *cache.Status) (float64, bool) {
			return boolean(s.Requests.Streaming), s.Requests.Streaming || s.Requests.NotStreamingReason != ""
		},
	},
	{
		counter("kinformer_read_bytes_total", "Size of the responses that were read from the stream, after decompression. 0 without streaming.", "informer", "kind"),
		count(func(s *cache.Status) uint64 { return s.Requests.BytesRead }),
	},
	{
		counter("kinformer_decoded_objects_total", "Objects decoded from bytes, those read from a packed store included.", "informer", "kind"),
		count(func(s *cache.Status) uint64 { return s.Requests.Decoded }),
	},
	{
		counter("kinformer_decode_seconds_total", "Time that decoding took, on all processors together, without the client's own decoding.", "informer", "kind"),
		always(func(s *cache.Status) float64 { return s.Requests.DecodeTime.Seconds() }),
	},
}

// handlerFamily is a family with one metric of each handler.
type handlerFamily struct {
	*family

	value func(*cache.HandlerStatus) float64
}

var handlerFamilies = []handlerFamily{ //nolint:gochecknoglobals // a constant
	{
		gauge("kinformer_handler_synced", "Whether the handler has received the whole initial list (1) or not (0).", "informer", "kind", "handler"),
		func(h *cache.HandlerStatus) float64 { return boolean(h.Synced) },
	},
	{
		gauge("kinformer_handler_backlog_events", "Events that have not been delivered, those being delivered included.", "informer", "kind", "handler"),
		func(h *cache.HandlerStatus) float64 { return float64(h.Backlog) },
	},
	{
		gauge("kinformer_handler_lag_seconds", "Upper bound of the time that the oldest event of the backlog has waited.", "informer", "kind", "handler"),
		func(h *cache.HandlerStatus) float64 { return h.Lag.Seconds() },
	},
	{
		counter("kinformer_handler_coalesced_events_total", "Events that were coalesced into others as the handler was slow.", "informer", "kind", "handler"),
		func(h *cache.HandlerStatus) float64 { return float64(h.Coalesced) },
	},
	{
		counter("kinformer_handler_calls_total", "Calls of the handler that have returned.", "informer", "kind", "handler"),
		func(h *cache.HandlerStatus) float64 { return float64(h.Calls) },
	},
	{
		counter("kinformer_handler_call_seconds_total", "Total time of the handler's calls, including the one in progress.", "informer", "kind", "handler"),
		func(h *cache.HandlerStatus) float64 { return h.CallTime.Seconds() },
	},
	{
		gauge("kinformer_handler_current_call_seconds", "Lower bound of how long the call in progress has not returned. 0 if no call is in progress.", "informer", "kind", "handler"),
		func(h *cache.HandlerStatus) float64 { return h.CurrentFor.Seconds() },
	},
}

// memberFamily is a family with one metric of a member of a group of package shard, or none.
type memberFamily struct {
	*family

	value func(*shard.Status) (value float64, ok bool)
}

// joined returns a value of a member that has joined its group, and so has listed its Leases.
func joined(value func(*shard.Status) int) func(*shard.Status) (float64, bool) {
	return func(s *shard.Status) (float64, bool) { return float64(value(s)), !s.Renewed.IsZero() }
}

// objects returns a value of the objects of a member's slots: of their sum and of the most of one
// slot. A series for each slot would be up to 4,096, and would move with the slots.
func objects(value func(sum, largest int) int) func(*shard.Status) (float64, bool) {
	return func(s *shard.Status) (float64, bool) {
		sum, largest := 0, 0
		for _, n := range s.SlotObjects {
			sum, largest = sum+n, max(largest, n)
		}
		return float64(value(sum, largest)), s.SlotObjects != nil
	}
}

var memberFamilies = []memberFamily{ //nolint:gochecknoglobals // a constant
	{
		gauge("kinformer_shard_members", "Members of the group whose Leases have not expired, as the member last saw them. Absent before it has joined.", "group", "member"),
		joined(func(s *shard.Status) int { return s.Members }),
	},
	{
		gauge("kinformer_shard_owned_slots", "Slots that the member owns. Absent before it has joined.", "group", "member"),
		joined(func(s *shard.Status) int { return s.Owned }),
	},
	{
		gauge("kinformer_shard_free_slots", "Slots that no live member owns, as the member last saw them: all, once it could not reach the API server for LeaseDuration. "+
			"Absent before it has joined.", "group", "member"),
		joined(func(s *shard.Status) int { return s.Free }),
	},
	{
		gauge("kinformer_shard_objects", "Objects that informers hold of the member's slots, without slots that one of them has not listed. "+
			"An object that two informers hold counts twice. Absent while no informer of the member runs.", "group", "member"),
		objects(func(sum, _ int) int { return sum }),
	},
	{
		gauge("kinformer_shard_largest_slot_objects", "Those of kinformer_shard_objects that are in the slot with most of them: "+
			"what a member has at least that owns the slot. Absent while no informer of the member runs.", "group", "member"),
		objects(func(_, largest int) int { return largest }),
	},
	{
		gauge("kinformer_shard_renewal_age_seconds", "Time since the last successful renewal of the member's Lease or, before the first one, "+
			"since the start of Run.", "group", "member"),
		func(s *shard.Status) (float64, bool) { return s.RenewalAge.Seconds(), true },
	},
	{
		gauge("kinformer_shard_renew_deadline_seconds", "Value of kinformer_shard_renewal_age_seconds at which the member's slots end.", "group", "member"),
		func(s *shard.Status) (float64, bool) { return s.RenewDeadline.Seconds(), true },
	},
}

//nolint:gochecknoglobals // constants
var (
	takenFamily = counter("kinformer_shard_taken_slots_total", "Slots that the member has taken, by reason.", "group", "member", "reason")
	lostFamily  = counter("kinformer_shard_lost_slots_total", "Slots that the member has lost, by reason.", "group", "member", "reason")
)

// reflectorFamilies have the names and the label of client-go.
var reflectorFamilies = []statusFamily{ //nolint:gochecknoglobals // a constant
	{
		counter("reflector_lists_total", "Total number of API lists done by the reflectors. Each page is a list.", "name"),
		count(func(s *cache.Status) uint64 { return s.Requests.Lists }),
	},
	{
		counter("reflector_watches_total", "Total number of API watches done by the reflectors. A WatchList is a watch.", "name"),
		count(func(s *cache.Status) uint64 { return s.Requests.Watches }),
	},
	{
		gauge("reflector_last_resource_version", "Last resource version seen for the reflectors. Absent if it is not a number.", "name"),
		func(s *cache.Status) (float64, bool) {
			version, err := strconv.ParseUint(s.Freshness.ResourceVersion, 10, 64)
			return float64(version), err == nil
		},
	},
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// sum returns the sum of the counts whose keys are selected.
func sum[K comparable](counts map[K]uint64, selected func(K) bool) (n uint64) {
	for key, count := range counts {
		if selected(key) {
			n += count
		}
	}
	return n
}

func hasFailed(request cache.Request) bool {
	return !strings.HasPrefix(request.Code, "2") && request.Code != "410"
}
