// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package keep

import "testing"

// rule is a row of the table in doc.go.
type rule struct {
	name    string
	applies func(Case) bool
	verdict Verdict
}

// newest returns how the arrival relates to the newest state of the own entry's key: that which
// could not be stored, if there is one with a version.
func newest(c Case) Version {
	switch {
	case c.Version == Same && c.Failure != Unversioned && c.Failure != NotNewer:
		return Same
	case c.Version == Same: // it is to be stored again
		return Newer
	case c.Unordered && !c.SameObject:
		return Newer
	case c.Failure == IsNewer:
		return Older
	case c.Failure == NotNewer:
		return Newer
	}
	return c.Version
}

var rules = []rule{
	{"own entry that is missing", func(c Case) bool { return c.Arrival == Missing && c.Entry == Own }, Remove},
	{"anything else that is missing", func(c Case) bool { return c.Arrival == Missing }, Ignore},
	{"deletion of an own entry, which is newer", func(c Case) bool { return c.Arrival == Deletion && c.Entry == Own && newest(c) == Older }, Ignore},
	{"deletion of an own entry", func(c Case) bool { return c.Arrival == Deletion && c.Entry == Own }, Remove},
	{"deletion before a newer failure", func(c Case) bool { return c.Arrival == Deletion && c.Entry == None && c.Failure == IsNewer }, Ignore},
	{"deletion of anything else", func(c Case) bool { return c.Arrival == Deletion }, Record},
	{"item of the version of the own entry", func(c Case) bool { return c.Arrival == Item && c.Entry == Own && newest(c) == Same }, Unchanged},
	{"item of an own entry", func(c Case) bool { return c.Arrival == Item && c.Entry == Own }, Store},
	{"event of the version of the own entry, by contents", func(c Case) bool {
		return c.Entry == Own && c.SameObject && newest(c) == Same && (c.Repeated || c.Unordered)
	}, Compare},
	{"event of the version of the own entry", func(c Case) bool { return c.Entry == Own && c.SameObject && newest(c) == Same }, Unchanged},
	{"event of the own entry's object, which is newer", func(c Case) bool { return c.Entry == Own && c.SameObject && newest(c) == Older }, Ignore},
	{"event of the own entry's object, by contents", func(c Case) bool { return c.Entry == Own && c.SameObject && c.Unordered }, Compare},
	{"event of the own entry's object", func(c Case) bool { return c.Entry == Own && c.SameObject }, Store},
	{"a tombstone", func(c Case) bool { return c.Superseded }, Ignore},
	{"another scope's entry, which is newer", func(c Case) bool {
		return c.Entry == Other && c.Version == Older && !c.Undone && (!c.Unordered || c.SameObject)
	}, Ignore},
	{"own entry of another object, which is newer", func(c Case) bool { return c.Entry == Own && newest(c) == Older }, Ignore},
	{"anything else", func(Case) bool { return true }, Store},
}

// cells calls visit for every Case that can be.
func cells(visit func(Case)) {
	bools := []bool{false, true}
	for arrival := range Missing + 1 {
		for entry := range Other + 1 {
			for version := range Older + 1 {
				for failure := range IsNewer + 1 {
					for bits := range 32 {
						bit := func(i int) bool { return bools[bits>>i&1] }
						c := Case{
							Arrival: arrival, Entry: entry, Version: version, Failure: failure,
							SameObject: bit(0), Superseded: bit(1), Undone: bit(2), Repeated: bit(3), Unordered: bit(4),
						}
						if c.Version == Same && !c.SameObject || c.Entry == None && (c.Version != Newer || c.SameObject) {
							continue
						}
						visit(c)
					}
				}
			}
		}
	}
}

// TestEveryCellFollowsItsRule walks all cases. Each rule is the first one that applies of some.
func TestEveryCellFollowsItsRule(t *testing.T) {
	first := make(map[string]int)
	cells(func(c Case) {
		for _, r := range rules {
			if !r.applies(c) {
				continue
			}
			first[r.name]++
			if got := Decide(c); got != r.verdict {
				t.Errorf("%+v: verdict %d, want %d: %s", c, got, r.verdict, r.name)
			}
			return
		}
	})
	for _, r := range rules {
		if first[r.name] == 0 {
			t.Errorf("no case is decided by %q", r.name)
		}
	}
}

// An arrival never brings a state back that is known to be newer, and no event removes an entry of
// another scope.
func TestVerdictsAreSafe(t *testing.T) {
	cells(func(c Case) {
		verdict := Decide(c)
		switch {
		case verdict == Remove && (c.Entry != Own || c.Arrival == Event || c.Arrival == Item):
			t.Errorf("%+v removes an entry", c)
		case (verdict == Unchanged || verdict == Compare) && c.Entry != Own:
			t.Errorf("%+v: no own entry to be unchanged", c)
		case verdict == Store && (c.Arrival == Deletion || c.Arrival == Missing):
			t.Errorf("%+v stores a state that is gone", c)
		case verdict == Store && c.Arrival == Event && c.Superseded && c.Entry != Own:
			t.Errorf("%+v stores a state from before a tombstone", c)
		}
	})
}
