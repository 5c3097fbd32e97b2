// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinformer/kinformer/fake/internal/shard"
)

// request is a parsed and validated list or watch request.
type request struct {
	query
	version           uint64 // 0 for "" and "0"; hasVersion distinguishes them
	hasVersion        bool   // resourceVersion is not empty
	match             metav1.ResourceVersionMatch
	limit             int
	token             *token
	sendInitialEvents *bool
	allowBookmarks    bool
}

// parse validates the options with apimachinery's own validation and error texts.
func (c *Collection) parse(namespace string, opts metav1.ListOptions, watch bool) (r *request, err error) {
	opts.Watch = watch
	var in internalversion.ListOptions
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&opts, &in, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if errs := validation.ValidateListOptions(&in, true); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	r = &request{
		query: query{
			namespace: namespace,
			labels:    selectorOr(in.LabelSelector, labels.Everything()),
			fields:    selectorOr(in.FieldSelector, fields.Everything()),
		},
		hasVersion:        opts.ResourceVersion != "",
		match:             opts.ResourceVersionMatch,
		limit:             int(max(opts.Limit, 0)),
		sendInitialEvents: opts.SendInitialEvents,
		allowBookmarks:    opts.AllowWatchBookmarks,
	}
	if err := c.checkFields(r.fields); err != nil {
		return nil, err
	}
	if r.shards, err = c.memory.parseShards(opts.ShardSelector); err != nil {
		return nil, err
	}
	return r, r.parseVersions(opts)
}

// parseShards parses a shard selector, or ignores it if the gate is off. An error is not an API
// error, as in the real server, which answers it with 500.
func (m *Memory) parseShards(selector string) (sharding.Selector, error) {
	if selector == "" || !m.sharding.Load() {
		return sharding.Everything(), nil
	}
	shards, err := shard.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("invalid shard selector: %w", err)
	}
	return shards, nil
}

func selectorOr[S comparable](selector, everything S) S {
	var none S
	if selector == none {
		return everything
	}
	return selector
}

func (c *Collection) checkFields(selector fields.Selector) error {
	for _, requirement := range selector.Requirements() {
		if err := c.spec.CheckField(requirement.Field); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	return nil
}

func (r *request) parseVersions(opts metav1.ListOptions) (err error) {
	if r.hasVersion {
		if r.version, err = ParseVersion(opts.ResourceVersion); err != nil {
			return err
		}
	}
	if opts.Continue == "" || opts.Watch {
		return nil
	}
	if r.version > 0 {
		return apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	r.token, err = decodeToken(opts.Continue)
	return err
}

// ParseVersion parses a resourceVersion.
func ParseVersion(version string) (uint64, error) {
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion: Invalid value: %q: %v", version, err))
	}
	return v, nil
}

// isExact reports whether the list must have exactly the requested version. A request with a limit
// and a version, but without resourceVersionMatch, is exact for compatibility with older clients.
func (r *request) isExact() bool {
	return r.match == metav1.ResourceVersionMatchExact || (r.match == "" && r.version > 0 && r.limit > 0)
}
