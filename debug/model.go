// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// recentEventsInterval is the time that each number of cache.Status.Requests.RecentEvents covers.
const recentEventsInterval = 5 * time.Second

// overview is the JSON of all informers.
type overview struct {
	Time      time.Time     `json:"time"`
	Informers []informer    `json:"informers"`
	Members   []shardMember `json:"shardMembers,omitempty"`
	Filter    string        `json:"-"` // of the rows
}

// informer is the JSON of an informer's status. Its names are documented in docs/observing.md.
type informer struct {
	ID                          uint64            `json:"id"`
	Name                        string            `json:"name"`
	UniqueName                  string            `json:"uniqueName"`
	Kind                        string            `json:"kind,omitempty"`
	Phase                       cache.Phase       `json:"phase"`
	Synced                      bool              `json:"synced"`
	Error                       string            `json:"error,omitempty"`
	ErrorSince                  time.Time         `json:"errorSince,omitzero"`
	FailedAttempts              int               `json:"failedAttempts"`
	ResourceVersion             string            `json:"resourceVersion"`
	FreshAt                     time.Time         `json:"freshAt,omitzero"`
	StalenessSeconds            *float64          `json:"stalenessSeconds,omitempty"`
	Objects                     int               `json:"objects"`
	ReceivedObjects             int               `json:"receivedObjects"`
	PackedBytes                 int64             `json:"packedBytes"`
	BytesRead                   uint64            `json:"bytesRead"`
	DecodedObjects              uint64            `json:"decodedObjects"`
	DecodeSeconds               float64           `json:"decodeSeconds"`
	Changes                     uint64            `json:"changes"`
	EventsPerSecond             float64           `json:"eventsPerSecond"`
	RecentEvents                []uint32          `json:"recentEvents"`
	RecentEventsIntervalSeconds float64           `json:"recentEventsIntervalSeconds"`
	Lists                       uint64            `json:"lists"`
	Watches                     uint64            `json:"watches"`
	WatchRestarts               uint64            `json:"watchRestarts"`
	Relists                     map[string]uint64 `json:"relists"`
	Requests                    []request         `json:"requests"`
	Streaming                   bool              `json:"streaming"`
	NotStreamingReason          string            `json:"notStreamingReason,omitempty"`
	Quarantined                 int               `json:"quarantined"`
	Unnamed                     int               `json:"unnamed"`
	IndexErrors                 map[string]uint64 `json:"indexErrors,omitempty"`
	OmitFieldsNotFound          []string          `json:"omitFieldsNotFound,omitempty"`
	Handlers                    []handlerStatus   `json:"handlers"`

	Now      time.Time `json:"-"`
	Troubles []trouble `json:"-"`
}

type request struct {
	Verb  string `json:"verb"`
	Code  string `json:"code"`
	Count uint64 `json:"count"`
}

type handlerStatus struct {
	Name                 string  `json:"name"`
	UniqueName           string  `json:"uniqueName"`
	Synced               bool    `json:"synced"`
	Backlog              uint64  `json:"backlog"`
	OldestPendingSeconds float64 `json:"oldestPendingSeconds"`
	Coalesced            uint64  `json:"coalesced"`
	Calls                uint64  `json:"calls"`
	CallSeconds          float64 `json:"callSeconds"`
	SecondsPerCall       float64 `json:"secondsPerCall"`
	CurrentKey           string  `json:"currentKey,omitempty"`
	CurrentSeconds       float64 `json:"currentSeconds,omitempty"`
	Late                 bool    `json:"-"`
}

// readAll reads the status of every informer.
func (h *handler) readAll() overview {
	all := overview{Time: h.clock.Now().UTC(), Informers: []informer{}, Members: h.members()}
	for _, view := range h.views() {
		all.Informers = append(all.Informers, h.read(view))
	}
	return all
}

// read reads the status of an informer.
func (h *handler) read(view cache.View) informer {
	return newInformer(view, view.Status(), h.clock.Now())
}

func newInformer(view cache.View, s cache.Status, now time.Time) informer {
	i := informer{
		ID: view.ID(), Name: s.Name, UniqueName: view.UniqueName(), Kind: view.Kind(), Phase: s.Phase, Synced: s.Synced,
		ErrorSince: s.ErrSince.UTC(), FailedAttempts: s.FailedAttempts,
		ResourceVersion: s.Freshness.ResourceVersion,
		Objects:         s.Store.Objects, ReceivedObjects: s.Requests.Received,
		PackedBytes: s.Store.PackedBytes,
		BytesRead:   s.Requests.BytesRead, DecodedObjects: s.Requests.Decoded, DecodeSeconds: s.Requests.DecodeTime.Seconds(),
		Changes: s.Store.Changes, EventsPerSecond: lastMinute(s.Requests.RecentEvents), RecentEvents: s.Requests.RecentEvents,
		RecentEventsIntervalSeconds: recentEventsInterval.Seconds(),
		Lists:                       s.Requests.Lists, Watches: s.Requests.Watches, WatchRestarts: s.Requests.WatchRestarts,
		Relists: map[string]uint64{}, Requests: requests(s),
		Streaming: s.Requests.Streaming, NotStreamingReason: s.Requests.NotStreamingReason,
		Quarantined: s.Store.Quarantined, Unnamed: s.Store.Unnamed, IndexErrors: s.Store.IndexErrors, OmitFieldsNotFound: s.Store.OmitFieldsNotFound,
		Handlers: handlers(s), Now: now.UTC(),
	}
	for reason, n := range s.Requests.Relists {
		if n > 0 {
			i.Relists[reason] = n
		}
	}
	if s.Err != nil {
		i.Error = shorten(s.Err.Error(), maxCause)
	}
	if !s.Freshness.FreshAt.IsZero() {
		seconds := s.Freshness.Staleness.Seconds()
		i.FreshAt, i.StalenessSeconds = s.Freshness.FreshAt.UTC(), &seconds
	}
	i.Troubles = i.troubles(s)
	return i
}

func requests(s cache.Status) []request {
	counts := make([]request, 0, len(s.Requests.Results))
	for _, kind := range slices.SortedFunc(maps.Keys(s.Requests.Results), func(a, b cache.Request) int {
		return cmp.Or(cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Code, b.Code))
	}) {
		counts = append(counts, request{kind.Verb, kind.Code, s.Requests.Results[kind]})
	}
	return counts
}

func handlers(s cache.Status) []handlerStatus {
	all := make([]handlerStatus, 0, len(s.Handlers))
	for _, h := range s.Handlers {
		status := handlerStatus{
			Name: h.Name, UniqueName: h.UniqueName, Synced: h.Synced, Backlog: h.Backlog, OldestPendingSeconds: h.Lag.Seconds(), Coalesced: h.Coalesced,
			Calls: h.Calls, CallSeconds: h.CallTime.Seconds(), CurrentKey: h.CurrentKey, CurrentSeconds: h.CurrentFor.Seconds(),
			Late: h.Backlog > 0 && h.Lag >= lateAfter,
		}
		if h.Calls > 0 {
			status.SecondsPerCall = h.CallTime.Seconds() / float64(h.Calls)
		}
		all = append(all, status)
	}
	return all
}

// lastMinute returns the events per second of the last minute's intervals that are over.
func lastMinute(recent []uint32) float64 {
	if len(recent) == 0 {
		return 0
	}
	over := recent[:len(recent)-1]
	intervals := min(len(over), int(time.Minute/recentEventsInterval))
	var events uint64
	for _, n := range over[len(over)-intervals:] {
		events += uint64(n)
	}
	return float64(events) / max(1, float64(intervals)*recentEventsInterval.Seconds())
}
