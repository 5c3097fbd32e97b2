// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

func TestFindReturnsWhyAnObjectIsMissing(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("a/1@1"), obj("c/1@1").with("decode"))
	h.apply(watch.Modified, obj("a/1@2").with("decode"))
	h.apply(watch.Added, obj("b/1@3").with("decode"))
	for key, want := range map[string]string{"a": "a/1@1", "b": "", "c": ""} {
		got, exists, err := h.Find(key)
		if want != "" && (!exists || err != nil || got.(*object).String() != want) {
			t.Errorf("Find(%s) = %v, %v, %v, want %s", key, got, exists, err, want)
		}
		if want == "" && (exists || !errors.Is(err, ErrNotStored) || !errors.Is(err, errInjected)) {
			t.Errorf("Find(%s) = %v, %v, %v, want ErrNotStored and the cause", key, got, exists, err)
		}
	}
	if got, exists, err := h.Find("d"); exists || err != nil {
		t.Errorf("Find(d) = %v, %v, %v of an object that does not exist", got, exists, err)
	}
}

// Find never reports that an object does not exist while its first good state is being stored.
func TestRecoveringObjectIsNeverMissing(t *testing.T) {
	state := func(i int, fault string) *object {
		return obj(fmt.Sprintf("%d/1@%d", i, 1+len(fault))).with(fault)
	}
	var all, recovered []*object
	for i := range raceKeys {
		all, recovered = append(all, state(i, "decode")), append(recovered, state(i, "").withVersion("9"))
	}
	for name, repair := range map[string]func(h *harness, next *atomic.Int64){
		"by events": func(h *harness, next *atomic.Int64) {
			for i, o := range recovered {
				next.Store(int64(i))
				h.apply(watch.Modified, o)
			}
		},
		"by a list": func(h *harness, _ *atomic.Int64) { h.relist("10", recovered...) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 * raceRounds {
				h := newHarness()
				h.relist("8", all...)
				var next atomic.Int64
				find := func() {
					key := strconv.FormatInt(next.Load(), 10)
					if _, exists, err := h.Find(key); !exists && err == nil {
						t.Errorf("the object %s does not exist", key)
					}
				}
				runConcurrently(func() { repair(h, &next) }, find)
			}
		})
	}
}

func (o *object) withVersion(version string) *object { o.Version = version; return o }
