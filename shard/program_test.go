// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// withProgram sets the name of the program.
func withProgram(name string) func(*Options) { return func(o *Options) { o.Program = name } }

// TestProgramOfGroupRecord compares records with and without a program, as earlier versions write
// them, with replicas with and without one.
func TestProgramOfGroupRecord(t *testing.T) {
	for _, c := range []struct {
		record, own string
		matches     bool
	}{
		{"", "", true},
		{"", "web", true},
		{"web", "", true},
		{"web", "web", true},
		{"web.example.com", "web.example.com", true},
		{"web", "api", false},
		{"api", "web", false},
		{"web", "web.example.com", false},
		{"web-1", "web-2", false},
		{"web", "we", false},
	} {
		other := Options{Group: "group", Identity: "a", Program: c.record}.withDefaults()
		own := Options{Group: "group", Identity: "b", Program: c.own}.withDefaults()
		err := own.checkGroup(other.groupLease())
		if c.matches && err != nil || !c.matches && !errors.Is(err, ErrGroupMismatch) {
			t.Errorf("record of program %q, replica of %q: %v", c.record, c.own, err)
		}
		if err != nil && (!strings.Contains(err.Error(), fmt.Sprintf("%q", c.record)) || !strings.Contains(err.Error(), fmt.Sprintf("%q", c.own))) {
			t.Errorf("the error does not name %q and %q: %v", c.record, c.own, err)
		}
	}
}

func TestProgramIsChecked(t *testing.T) {
	for program, valid := range map[string]bool{
		"": true, "web": true, "web-controller": true, "web.example.com": true, "7": true,
		"Web": false, "web controller": false, "example.com/web": false, "-web": false, "web\n": false, strings.Repeat("w", 254): false,
	} {
		_, err := New(newLeaseServer(), Options{Group: "group", Identity: "a", Program: program})
		if valid && err != nil || !valid && (err == nil || !strings.Contains(err.Error(), "Program")) {
			t.Errorf("program %q: %v", program, err)
		}
	}
}

// TestReplicasOfAnotherProgramAreRefused starts replicas one after the other. The first one with a
// name decides the program of the group, also if replicas without one have created it.
func TestReplicasOfAnotherProgramAreRefused(t *testing.T) {
	for _, c := range []struct {
		programs []string
		refused  []bool
		record   string
	}{
		{[]string{"web", "api"}, []bool{false, true}, "web"},
		{[]string{"web", "web"}, []bool{false, false}, "web"},
		{[]string{"", ""}, []bool{false, false}, ""},
		{[]string{"", "web"}, []bool{false, false}, "web"},
		{[]string{"web", ""}, []bool{false, false}, "web"},
		{[]string{"", "web", "api"}, []bool{false, false, true}, "web"},
		{[]string{"web", "", "api", "web"}, []bool{false, false, true, false}, "web"},
		{[]string{"", "", "api", "web", "web"}, []bool{false, false, false, true, true}, "api"},
	} {
		t.Run(strings.Join(c.programs, ","), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leases := newLeaseServer()
				var ran []chan error
				for n, program := range c.programs {
					m := newTestMember(t, leases, fmt.Sprintf("r%d", n), withSlots(4), withProgram(program))
					done := make(chan error, 1)
					go func() { done <- m.Run(t.Context()) }()
					ran = append(ran, done)
					<-time.After(time.Minute)
				}
				for n, done := range ran {
					select {
					case err := <-done:
						if !c.refused[n] || !errors.Is(err, ErrGroupMismatch) {
							t.Errorf("replica %d of %q: %v", n, c.programs[n], err)
						}
					default:
						if c.refused[n] {
							t.Errorf("replica %d of %q runs", n, c.programs[n])
						}
					}
				}
				record, err := leases.Get(t.Context(), "web", metav1.GetOptions{})
				if err != nil || record.Annotations["kinformer/shard-program"] != c.record {
					t.Errorf("the group's record: %v, %v, want program %q", record.GetAnnotations(), err, c.record)
				}
			})
		})
	}
}

// TestOneOfTwoProgramsIsRefused starts replicas of two programs at one instant, in a group whose
// record names none.
func TestOneOfTwoProgramsIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newLeaseServer()
		runMember(t.Context(), t, newTestMember(t, leases, "old", withSlots(4)))
		<-time.After(time.Minute)
		done := make(chan error, 2)
		for _, program := range []string{"web", "api"} {
			m := newTestMember(t, leases, program, withSlots(4), withProgram(program))
			go func() { done <- m.Run(t.Context()) }()
		}
		<-time.After(time.Minute)
		if len(done) != 1 {
			t.Fatalf("%d of two programs have ended", len(done))
		}
		if err := <-done; !errors.Is(err, ErrGroupMismatch) {
			t.Errorf("one of two programs: %v", err)
		}
	})
}

// TestProgramIsWrittenOnceTheServerAllowsIt refuses the update of a record without a program, and
// then accepts it.
func TestProgramIsWrittenOnceTheServerAllowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := &refusingServer{leaseServer: newLeaseServer()}
		leases.leases.Create(Options{Group: "web"}.withDefaults().groupLease())
		leases.refuse.Store(new(func(name string) error {
			if name == "web" {
				return forbidden(name)
			}
			return nil
		}))
		m := newTestMember(t, leases, "a", withProgram("web"))
		runMember(t.Context(), t, m)
		<-time.After(time.Minute)
		if s := m.Status(); s.Incarnation != "" || s.Err == nil {
			t.Errorf("the record cannot be written: %+v", s)
		}
		leases.refuseAll(false)
		<-time.After(time.Minute)
		if s := m.Status(); s.Incarnation == "" || s.Err != nil {
			t.Errorf("the record can be written: %+v", s)
		}
	})
}

// TestMembersProgramsAreShown checks that each member's status names all members with their
// programs, and that the log does when a program appears or disappears.
func TestMembersProgramsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newLeaseServer()
		ctx, lines := collectLines(t, "Programs of the group's members")
		a := newTestMember(t, leases, "a", withSlots(4), withProgram("web"))
		runMember(ctx, t, a)
		<-time.After(time.Minute)
		stopB := runMember(t.Context(), t, newTestMember(t, leases, "b", withSlots(4), withProgram("web")))
		<-time.After(time.Minute)
		stopC := runMember(t.Context(), t, newTestMember(t, leases, "c", withSlots(4)))
		<-time.After(time.Minute)
		want := []Peer{{"a", "web", 2, -1}, {"b", "web", 1, -1}, {"c", "", 1, -1}}
		if s := a.Status(); s.Members != 3 || !slices.Equal(s.Peers, want) {
			t.Errorf("three members: %+v, want peers %+v", s, want)
		}
		stopB()
		<-time.After(time.Minute)
		stopC()
		<-time.After(time.Minute)
		if s := a.Status(); !slices.Equal(s.Peers, []Peer{{"a", "web", 4, -1}}) {
			t.Errorf("one member: %+v", s)
		}
		got := lines()
		for n, text := range []string{`"programs"="web: a"`, `"programs"="none: c; web: a, b"`, `"programs"="web: a"`} {
			if n >= len(got) || !strings.Contains(got[n], text) {
				t.Errorf("line %d of %q does not have %s", n, got, text)
			}
		}
		if len(got) != 3 {
			t.Errorf("%d lines: %q", len(got), got)
		}
	})
}

// TestRestartedReplicaMayChangeItsProgram starts a replica without a program again with one, under
// the same identity, before its Lease was deleted.
func TestRestartedReplicaMayChangeItsProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newLeaseServer()
		for _, program := range []string{"", "web", ""} {
			m := newTestMember(t, leases, "a", withSlots(4), withProgram(program))
			stop := runMember(t.Context(), t, m)
			<-time.After(time.Minute)
			if got := m.Status().Peers; !slices.Equal(got, []Peer{{"a", program, 4, -1}}) {
				t.Errorf("program %q: peers %+v", program, got)
			}
			stop()
		}
	})
}

// TestNoProgramsAreNotLogged checks that members without programs log no line about them.
func TestNoProgramsAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := newLeaseServer()
		ctx, lines := collectLines(t, "Programs of the group's members")
		for _, identity := range []string{"a", "b"} {
			runMember(ctx, t, newTestMember(t, leases, identity, withSlots(4)))
		}
		<-time.After(time.Minute)
		if got := lines(); len(got) != 0 {
			t.Errorf("lines %q", got)
		}
	})
}

func TestProgramsText(t *testing.T) {
	many := []Peer{}
	for n := range 25 {
		many = append(many, Peer{Identity: fmt.Sprintf("r%02d", n), Program: "web"})
	}
	for want, peers := range map[string][]Peer{
		"":                           nil,
		"web: a":                     {{Identity: "a", Program: "web"}},
		"none: a, b":                 {{Identity: "a", Program: ""}, {Identity: "b", Program: ""}},
		"api: b; web: a":             {{Identity: "a", Program: "web"}, {Identity: "b", Program: "api"}},
		"none: b; api: a, c; web: d": {{Identity: "a", Program: "api"}, {Identity: "b", Program: ""}, {Identity: "c", Program: "api"}, {Identity: "d", Program: "web"}},
		"web: r00, r01, r02, r03, r04, r05, r06, r07, r08, r09 and 15 more": many,
	} {
		if got := programsText(peers); got != want {
			t.Errorf("programs %q, want %q", got, want)
		}
	}
}
