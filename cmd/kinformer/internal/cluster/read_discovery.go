// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// statusText is a transport that answers with the message of a Status in place of the Status.
// client-go's discovery reads only plain text into its errors, and says "unknown" otherwise.
type statusText struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t statusText) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil || response.StatusCode < http.StatusBadRequest || response.Header.Get("Content-Type") != runtime.ContentTypeJSON {
		return response, err
	}
	text := statusError(response, request.URL.Path).Error()
	response.Body.Close()
	response.Header.Set("Content-Type", "text/plain")
	response.Body, response.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return response, nil
}

// readDiscovery answers from the discovery documents that were read when it was made. client-go's
// cache requests those that fail again for each name that is looked up, and an aggregated API that
// is down may need the server's whole timeout for each answer.
type readDiscovery struct {
	discovery.DiscoveryInterface

	groups []*metav1.APIGroup
	lists  []*metav1.APIResourceList
	failed map[schema.GroupVersion]error
}

// readAll reads the resources of all groups. Those of a group that fails are requested twice:
// client-go repeats the request.
func readAll(client discovery.DiscoveryInterface) (*readDiscovery, error) {
	groups, lists, err := client.ServerGroupsAndResources()
	read := &readDiscovery{DiscoveryInterface: client, groups: groups, lists: lists}
	if partial, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); ok {
		read.failed = partial.Groups
		return read, nil
	}
	return read, err
}

// ServerGroupsAndResources implements discovery.DiscoveryInterface.
func (r *readDiscovery) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return r.groups, r.lists, r.failure()
}

// failure returns the error for the groups that failed, or nil.
func (r *readDiscovery) failure() error {
	if len(r.failed) == 0 {
		return nil
	}
	return &discovery.ErrGroupDiscoveryFailed{Groups: r.failed}
}

// ServerGroups implements discovery.DiscoveryInterface.
func (r *readDiscovery) ServerGroups() (*metav1.APIGroupList, error) {
	groups := &metav1.APIGroupList{}
	for _, group := range r.groups {
		groups.Groups = append(groups.Groups, *group)
	}
	return groups, nil
}

// ServerResourcesForGroupVersion implements discovery.DiscoveryInterface.
func (r *readDiscovery) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	for _, list := range r.lists {
		if list.GroupVersion == version {
			return list, nil
		}
	}
	for group, err := range r.failed {
		if group.String() == version {
			return nil, err
		}
	}
	return nil, fmt.Errorf("unknown group and version %q", version)
}

// ServerPreferredResources implements discovery.DiscoveryInterface. A server with aggregated
// discovery leaves the versions of a group that fails out of the group.
func (r *readDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	lists, err := discovery.ServerPreferredResources(r)
	if discovery.IsGroupDiscoveryFailedError(err) || err == nil {
		err = r.failure()
	}
	return lists, err
}
