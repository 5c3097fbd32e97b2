package history

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Page is the answer to a list request. Its objects are shared and read only.
type Page struct {
	Items     []*Item // in key order
	Version   uint64  // that the whole list, of which this may be one page, is consistent at
	Continue  string  // asks for the next page; empty on the last one
	Remaining *int64  // how many items follow; nil on the last page and where selectors hide the number
}

// List answers a list request for a namespace ("" for all) by the rules of the real server:
//
//   - "" is answered at the current version, "0" too, and without pages;
//   - a version means "not older than" it, or the version itself with ResourceVersionMatch Exact or with a limit;
//   - all pages of a list are answered at the version of the first one;
//   - 410 Expired if the version is forgotten, 504 if it has not been reached.
func (c *Collection) List(namespace string, opts metav1.ListOptions) (*Page, error) {
	r, err := c.parse(namespace, opts, false)
	if err != nil {
		return nil, err
	}
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	return c.list(r)
}

// ListAt answers like List, but from a server whose newest version is the given one: a replica that lags behind.
func (c *Collection) ListAt(namespace string, opts metav1.ListOptions, version uint64) (*Page, error) {
	r, err := c.parse(namespace, opts, false)
	if err != nil {
		return nil, err
	}
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	if version < c.log.floor || version > c.memory.version {
		return nil, expired(version, c.log.floor)
	}
	return page(r, c.snapshotAt(version), version, ""), nil
}

// list chooses the version and reads it. The caller holds mu.
func (c *Collection) list(r *request) (*Page, error) {
	current := c.memory.version
	version, start := current, ""
	switch {
	case r.token != nil:
		start = r.token.Start
		if r.token.Version != anyVersion {
			version = uint64(r.token.Version)
		}
	case r.exact():
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

// page cuts one page out of all items of a version.
func page(r *request, all []*Item, version uint64, start string) *Page {
	all = r.within(all)
	p := &Page{Version: version}
	limit := r.limit
	if limit == 0 || (r.given && r.version == 0 && r.token == nil) {
		limit = len(all) // "0" has always been answered whole
	}
	for i := seek(all, start); i < len(all); i++ {
		if !r.matches(all[i]) {
			continue
		}
		p.Items = append(p.Items, all[i])
		if remaining := int64(len(all) - i - 1); len(p.Items) == limit && remaining > 0 {
			// Whether any of them matches is not looked at: the next page may be empty.
			p.Continue = encodeToken(token{Version: int64(version), Start: all[i].Key + "\x00"})
			if !r.selective() {
				p.Remaining = &remaining
			}
			break
		}
	}
	return p
}
