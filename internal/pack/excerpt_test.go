// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// withLabels returns bytes that look like a Pod, and the place of its labels.
func withLabels(workload, replica int, labels string) (raw []byte, at Excerpt) {
	pod := podLike(workload, replica)
	raw = append(append(bytes.Clone(pod[:100]), labels...), pod[100:]...)
	return raw, Excerpt{100, 100 + len(labels), true}
}

// TestExcerptGroups packs objects of workloads whose labels are equal, empty, of each object, or
// not known. The excerpt of a group is read once, so all its objects must have it.
func TestExcerptGroups(t *testing.T) {
	const replicas = 20
	for name, labelsOf := range map[string]func(workload, replica int) string{
		"of the workload": func(workload, _ int) string { return fmt.Sprintf("app=%d", workload) },
		"none":            func(int, int) string { return "" },
		"of each object":  func(workload, replica int) string { return fmt.Sprintf("app=%d,index=%d", workload, replica) },
		"of some objects": func(workload, replica int) string { return fmt.Sprintf("app=%d,odd=%d", workload, replica%2) },
		"not known":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			p, grouped := New(), 0
			excerpts := map[ExcerptGroup]string{}
			for i := range 10 * replicas {
				workload, replica, labels := i%10, i/10, "unknown"
				if labelsOf != nil {
					labels = labelsOf(workload, replica)
				}
				raw, at := withLabels(workload, replica, labels)
				if labelsOf == nil {
					at = Excerpt{}
				}
				o := p.Pack(raw, fmt.Sprint("owner ", workload), Object{}, at)
				wantUnpacked(t, o, raw)
				wantExcerpt(t, o, raw, at)
				if replica == 0 && o.ExcerptGroup() != (ExcerptGroup{}) {
					t.Fatal("a base without other objects has a group")
				}
				if group := o.ExcerptGroup(); group != (ExcerptGroup{}) {
					grouped++
					if other, known := excerpts[group]; known && other != labels {
						t.Fatalf("a group has the labels %q and %q", other, labels)
					}
					excerpts[group] = labels
				}
			}
			switch name {
			case "of each object", "not known":
				if grouped > 0 {
					t.Errorf("%d objects with labels of their own are in groups", grouped)
				}
			case "of some objects":
				if grouped == 0 {
					t.Error("no object is in a group")
				}
			default:
				if grouped < 5*replicas { // some objects are bases of their own
					t.Errorf("%d of %d objects are in groups", grouped, 10*replicas)
				}
			}
		})
	}
}

// TestExcerptOfAnUpdate relabels an object of a workload, and its base.
func TestExcerptOfAnUpdate(t *testing.T) {
	p := New()
	var objects []Object
	for replica := range 3 {
		raw, at := withLabels(1, replica, "app=a")
		objects = append(objects, p.Pack(raw, "owner", Object{}, at))
	}
	group := objects[0].ExcerptGroup()
	if group == (ExcerptGroup{}) || objects[1].ExcerptGroup() != group || objects[2].ExcerptGroup() != group {
		t.Fatal("equal objects of one workload are not a group")
	}
	for replica, o := range objects {
		raw, at := withLabels(1, replica, "app=b")
		updated := p.Pack(raw, "owner", o, at)
		wantExcerpt(t, updated, raw, at)
		if updated.ExcerptGroup() == group {
			t.Errorf("object %d is in the group of its former labels", replica)
		}
		before, at := withLabels(1, replica, "app=a")
		wantExcerpt(t, o, before, at)
	}
}

// TestExcerptTakesFewBytes compares the headers of objects with an excerpt and without.
func TestExcerptTakesFewBytes(t *testing.T) {
	size := func(h header) int {
		h.length = 5000
		return len(appendHeader(nil, h))
	}
	without := size(header{})
	for limit, h := range []header{
		{fromBase: true},
		{excerpt: Excerpt{100, 180, true}},
		{excerpt: Excerpt{200, 280, true}},
		{excerpt: Excerpt{200, 400, true}},
	} {
		if more := size(h) - without; more > limit {
			t.Errorf("the place of the excerpt %+v takes %d bytes more, want at most %d", h, more, limit)
		}
	}
}

func TestErrorOfACorruptExcerpt(t *testing.T) {
	p := New()
	raw, at := withLabels(1, 1, "app=a")
	base := p.Pack(raw, "owner", Object{}, at)
	delta := p.Pack(raw, "owner", Object{}, at)
	broken := &source{object: Object{data: "123456"}, pool: base.from.pool}
	for want, o := range map[string]Object{
		"zero object":                {},
		"truncated header":           delta.withData("1"),
		"invalid instruction before": delta.withData("1234\x05\x06\x00\x07\xff\xff\x7f"),
		"decoded 1 bytes, want 4":    delta.withData("1234\x05\x06\x00\x08a\x00"),
		"unpack base: corrupt":       {from: broken, data: "1234\x05\x06\x00\x08a\x00"},
		"excerpt of 52 bytes":        {from: broken, data: delta.data},
	} {
		got, ok, err := o.AppendExcerpt([]byte("before"))
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(fmt.Sprint(err), want) || ok || string(got) != "before" {
			t.Errorf("got %q, %v, error %v, want %q", got, ok, err, want)
		}
	}
}
