// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RelistReason is why a collection was listed again after a watch.
type RelistReason string

// The reasons for a relist.
const (
	// RelistExpired: the server no longer has the resourceVersion of the watch (410 Gone).
	RelistExpired RelistReason = "Expired"
	// RelistVersionRegressed: the server is at an older resourceVersion than before, or has not
	// reached the watch's; it lags, or etcd was restored from a backup.
	RelistVersionRegressed RelistReason = "VersionRegressed"
	// RelistHistoryChanged: the server did not repeat the last changes at the start of a resumed
	// watch; etcd was restored from a backup, or the server lost events.
	RelistHistoryChanged RelistReason = "HistoryChanged"
	// RelistUnconfirmed: the server neither repeated the last changes nor proved them by an answer,
	// and a list confirms them.
	RelistUnconfirmed RelistReason = "Unconfirmed"
	// RelistQuarantined: some objects could not be stored, and are requested again.
	RelistQuarantined RelistReason = "Quarantined"
	// RelistShortWatches: the server repeatedly closed the watch at once and without an event.
	RelistShortWatches RelistReason = "ShortWatches"
	// RelistNoVersion: the collection or an event has no resourceVersion from which a watch could
	// be resumed.
	RelistNoVersion RelistReason = "NoResourceVersion"
	// RelistServerError: the server repeatedly answered the watch with a 5xx code.
	RelistServerError RelistReason = "ServerError"
	// RelistRefused: the server repeatedly answered the watch with a 4xx code.
	RelistRefused RelistReason = "Refused"
	// RelistWatchFailed: the watch repeatedly failed in another way, such as by an invalid event or
	// an error of the program's own watch function.
	RelistWatchFailed RelistReason = "WatchFailed"
)

// RelistReasons are all reasons for a relist.
func RelistReasons() []RelistReason {
	return []RelistReason{
		RelistExpired, RelistVersionRegressed, RelistHistoryChanged, RelistUnconfirmed, RelistQuarantined, RelistShortWatches, RelistNoVersion,
		RelistServerError, RelistRefused, RelistWatchFailed,
	}
}

// relistReason returns why a watch that ended with err, and is not resumed, is followed by a list.
func relistReason(err error) RelistReason {
	var status apierrors.APIStatus
	switch {
	case isGone(err):
		return RelistExpired
	case errors.Is(err, ErrVersionRegressed), isFutureVersion(err):
		return RelistVersionRegressed
	case errors.Is(err, ErrHistoryChanged):
		return RelistHistoryChanged
	case errors.Is(err, errUnconfirmed):
		return RelistUnconfirmed
	case errors.Is(err, ErrQuarantined):
		return RelistQuarantined
	case errors.Is(err, ErrShortWatches):
		return RelistShortWatches
	case errors.Is(err, ErrNoVersion):
		return RelistNoVersion
	case isServerError(err):
		return RelistServerError
	case errors.As(err, &status):
		return RelistRefused
	}
	return RelistWatchFailed
}
