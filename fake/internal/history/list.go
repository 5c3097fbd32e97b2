// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Page is the answer to a list request. Its objects are shared and must not be modified.
type Page struct {
	Items     []*Item // in key order
	Version   uint64  // the version of the whole list, the same for all its pages
	Continue  string  // the token for the next page; empty on the last page
	Remaining *int64  // number of items on later pages; nil on the last page and with selectors

	ShardInfo *metav1.ShardInfo // nil without a shard selector
}

// Replica is the server that answers a read. The zero value is an up-to-date server, any other
// value a lagging replica that stays at that resourceVersion.
type Replica uint64

// List answers a list request for a namespace ("" for all) as the real server does:
//
//   - resourceVersion "" lists at the current version, and so does "0", which also ignores the
//     limit;
//   - another version lists at that version or a newer one, and at exactly that version with
//     ResourceVersionMatch Exact or with a limit;
//   - all pages of a list have the version of its first page;
//   - a version that the log no longer covers is 410 Expired, one in the future 504.
//
// A lagging replica lists at its version, whatever version the request asks for.
func (c *Collection) List(namespace string, opts metav1.ListOptions, replica Replica) (*Page, error) {
	r, err := c.parse(namespace, opts, false)
	if err != nil {
		return nil, err
	}
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	if replica == 0 {
		return c.list(r)
	}
	version := uint64(replica)
	if version < c.log.floor || version > c.memory.version {
		return nil, expired(version, c.log.floor)
	}
	return page(r, c.snapshotAt(version), version, ""), nil
}

// list chooses the version of the list and reads it. The caller must hold mu.
func (c *Collection) list(r *request) (*Page, error) {
	current := c.memory.version
	version, start := current, ""
	switch {
	case r.token != nil:
		start = r.token.Start
		if r.token.Version != anyVersion {
			version = uint64(r.token.Version)
		}
	case r.isExact():
		version = r.version
	}
	if wanted := max(version, r.version); wanted > current {
		return nil, TooLarge(wanted, current)
	}
	if version < c.log.floor {
		if r.token != nil {
			return nil, continueExpired(start)
		}
		return nil, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	return page(r, c.snapshotAt(version), version, start), nil
}

// page returns one page of all items of a version, starting at the key start.
func page(r *request, all []*Item, version uint64, start string) *Page {
	all = r.inNamespace(all)
	p := &Page{Version: version, ShardInfo: r.shardInfo()}
	limit := r.limit
	if limit == 0 || (r.hasVersion && r.version == 0 && r.token == nil) {
		limit = len(all) // the real server ignores the limit for "0"
	}
	first := seek(all, start)
	for i := first; i < len(all); i++ {
		if !r.matches(all[i]) {
			continue
		}
		p.Items = append(p.Items, all[i])
		if len(p.Items) == limit && i+1 < len(all) {
			// The remaining items may all fail to match, so the next page may be empty.
			p.Continue = encodeToken(token{Version: int64(version), Start: all[i].Key + "\x00"})
			if !r.hasSelector() {
				// As in the real server, this counts the items that are in other shards, too.
				remaining := int64(len(all) - first - limit)
				p.Remaining = &remaining
			}
			break
		}
	}
	return p
}
