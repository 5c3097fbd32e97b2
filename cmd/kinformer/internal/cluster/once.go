package cluster

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// onceDiscovery reads the resources of all groups once. client-go's cache requests those that fail
// again for each name that is looked up, and an aggregated API that is down may need the server's
// whole timeout for each answer. (The one reading requests them twice: client-go repeats it.) It is not safe for
// concurrent use before the first ServerGroupsAndResources has returned.
type onceDiscovery struct {
	discovery.DiscoveryInterface

	read   bool
	groups []*metav1.APIGroup
	lists  map[string]*metav1.APIResourceList // by group and version
	failed map[schema.GroupVersion]error
	err    error
}

// ServerGroupsAndResources implements discovery.DiscoveryInterface.
func (o *onceDiscovery) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	var lists []*metav1.APIResourceList
	if !o.read {
		o.groups, lists, o.err = o.DiscoveryInterface.ServerGroupsAndResources()
		o.read, o.lists = true, make(map[string]*metav1.APIResourceList, len(lists))
		for _, list := range lists {
			o.lists[list.GroupVersion] = list
		}
		if partial, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](o.err); ok {
			o.failed = partial.Groups
		}
		return o.groups, lists, o.err
	}
	for _, list := range o.lists {
		lists = append(lists, list)
	}
	return o.groups, lists, o.err
}

// ServerGroups implements discovery.DiscoveryInterface.
func (o *onceDiscovery) ServerGroups() (*metav1.APIGroupList, error) {
	if !o.read {
		return o.DiscoveryInterface.ServerGroups()
	}
	groups := &metav1.APIGroupList{}
	for _, group := range o.groups {
		groups.Groups = append(groups.Groups, *group)
	}
	return groups, nil
}

// ServerResourcesForGroupVersion implements discovery.DiscoveryInterface.
func (o *onceDiscovery) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	if list := o.lists[version]; list != nil {
		return list, nil
	}
	if parsed, err := schema.ParseGroupVersion(version); err == nil && o.failed[parsed] != nil {
		return nil, o.failed[parsed]
	}
	return o.DiscoveryInterface.ServerResourcesForGroupVersion(version)
}

// ServerPreferredResources implements discovery.DiscoveryInterface. A server with aggregated
// discovery leaves the versions of a group that fails out of the group.
func (o *onceDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	lists, err := discovery.ServerPreferredResources(o)
	if discovery.IsGroupDiscoveryFailedError(err) || err == nil && len(o.failed) > 0 {
		return lists, &discovery.ErrGroupDiscoveryFailed{Groups: o.failed}
	}
	return lists, err
}
