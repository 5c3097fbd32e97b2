// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import "github.com/kinformer/kinformer/fake/internal/fault"

// APIRequest describes a request to an [APIServer]. Verb is "get", "list", "watch", "create",
// "update", "patch", "delete" or "deletecollection"; Group, Version, Resource, Namespace, Name and
// Subresource are those of the URL. HTTP is the request itself, whose body must not be read. For
// requests that do not name a resource, such as discovery, only HTTP is set.
type APIRequest = fault.Request

// InjectFault applies a fault to the next n requests that match. A negative n means all further
// matching requests, until ClearFaults. If several faults match, the one injected first applies. A
// nil match matches every request. The server does not call match concurrently, and match must not
// call InjectFault or ClearFaults.
//
// A request that is being served is not affected. To end a watch, inject CloseIn or
// CloseAfterEvents before it is opened.
//
// InjectFault panics if the fault's ResourceVersion is invalid, or if only a ListerWatcher has the
// fault.
func (s *APIServer) InjectFault(n int, match func(APIRequest) bool, f Fault) {
	if f.EditList != nil || f.EditEvent != nil {
		panic("fake.APIServer: inject fault: EditList and EditEvent are faults of a ListerWatcher")
	}
	if match == nil {
		match = func(APIRequest) bool { return true }
	}
	s.faults.Add(n, match, fault.Fault(f))
}

// ClearFaults removes all injected faults. Requests in progress keep theirs.
func (s *APIServer) ClearFaults() {
	s.faults.Clear()
}
