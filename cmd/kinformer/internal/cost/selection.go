// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
)

// selection is the resources to measure.
type selection struct {
	resources []*cluster.Resource
	skipped   []without
}

func (s *selection) skip(name, reason string) { s.skipped = append(s.skipped, without{name, reason}) }

// selectNamed returns the resources with the names of the command line.
func selectNamed(catalog *cluster.Catalog, o *options) (*selection, error) {
	s := &selection{}
	seen := map[schema.GroupVersionResource]bool{}
	for _, name := range o.resources {
		found, err := catalog.Find(name)
		if err != nil {
			return nil, err
		}
		if err := checkNamed(found, o); err != nil {
			return nil, err
		}
		if !seen[found.GroupVersionResource] {
			s.resources = append(s.resources, found)
		}
		seen[found.GroupVersionResource] = true
	}
	return s, nil
}

func checkNamed(r *cluster.Resource, o *options) error {
	switch {
	case !r.Cacheable():
		return fmt.Errorf("%s cannot be cached: the server has no list and watch of it", r.Name())
	case isSecrets(r) && !o.secrets:
		return errors.New("secrets are read only with --secrets, which replaces their values")
	}
	return nil
}

func isSecrets(r *cluster.Resource) bool { return r.GroupResource() == corev1.Resource("secrets") }

// selectAll returns all resources but those to skip.
func selectAll(client *cluster.Client, catalog *cluster.Catalog, o *options) (*selection, error) {
	all, err := catalog.All()
	if err != nil {
		return nil, err
	}
	isAggregated, err := aggregation(client)
	if err != nil {
		return nil, err
	}
	s := &selection{}
	for _, failed := range catalog.Failed {
		s.skip(failed.String(), "the server cannot list the resources of this group: "+catalog.Failure(failed).Error())
	}
	for _, r := range all {
		if reason := skipReason(r, o, all, isAggregated); reason != "" {
			s.skip(r.Name(), reason)
		} else {
			s.resources = append(s.resources, r)
		}
	}
	return s, nil
}

// skipReason returns why --all skips a resource, or "".
func skipReason(r *cluster.Resource, o *options, all []*cluster.Resource, aggregated func(*cluster.Resource) string) string {
	switch {
	case isSecrets(r) && !o.secrets:
		return "Secrets, without --secrets"
	case r.Resource == "events" && (r.Group == "" || r.Group == "events.k8s.io"):
		return "Events"
	case !r.Supports("watch"):
		return "no watch"
	case o.cluster.Namespace() != "" && !r.Namespaced:
		return "not in a namespace"
	case r.Group == "extensions" && servedElsewhere(r, all):
		return "also served by another group"
	}
	return aggregated(r)
}

// servedElsewhere reports whether another group serves a resource of the same name, as the groups
// do to which the resources of extensions have moved.
func servedElsewhere(r *cluster.Resource, all []*cluster.Resource) bool {
	for _, other := range all {
		if other.Resource == r.Resource && other.Group != r.Group {
			return true
		}
	}
	return false
}

// aggregation returns a function that returns why a resource is skipped as one of an aggregated
// API, or "". If APIServices may not be listed, every group that is not built in counts as one,
// also those of custom resources.
func aggregation(client *cluster.Client) (func(*cluster.Resource) string, error) {
	versions, err := client.AggregatedVersions()
	switch {
	case apierrors.IsForbidden(err):
		return func(r *cluster.Resource) string {
			if isBuiltIn(r.Group) {
				return ""
			}
			return "may be an aggregated API, as APIServices may not be listed; it can be measured by name"
		}, nil
	case err != nil:
		return nil, err
	}
	return func(r *cluster.Resource) string {
		if versions[r.GroupVersion()] {
			return "aggregated API"
		}
		return ""
	}, nil
}

// isBuiltIn reports whether kube-apiserver itself serves a group.
func isBuiltIn(group string) bool {
	return scheme.Scheme.IsGroupRegistered(group) || group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io"
}
