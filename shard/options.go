// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kinformer/kinformer/cache"
)

// Options configures a Member. Group and Identity are required.
type Options struct {
	// Group is the name of the replicas that divide collections, and of their Leases: those of a
	// group "web" are "web", "web-member-IDENTITY", and "web-slot-07" for slot 7 of 32. It must be
	// a DNS label.
	Group string
	// Identity is the name of this replica, such as the name of its Pod. It must be a DNS
	// subdomain, and no other running replica of the group may have it. A replica that is started
	// again under the name of one that crashed joins the group once that one's Lease has expired.
	Identity string
	// Program is the name of the program that the replicas of the group run, such as
	// "web-controller". It must be a DNS subdomain, or empty. The Lease named Group has it once a
	// replica with one has run: Run returns ErrGroupMismatch if that is another one. An empty name
	// is not compared. Without it, two programs that use one group by mistake each handle a part of
	// their objects, and neither notices.
	Program string

	// Slots is the number of parts into which the hash space is cut. Zero means 32; at most 4096.
	// It should be at least four times the largest number of replicas, and cannot be changed while
	// the Lease named Group exists.
	Slots int
	// HashField is the field of objects whose hash decides to which slot they belong. The default
	// is cache.HashUID, whose slots have about equally many objects. It cannot be changed either.
	//
	// Namespaces whose names differ only in their last two characters, such as team-01 to team-30,
	// have hashes that differ only in their low bits. With cache.HashNamespace, they are in one
	// slot, or in a few, also of 4096, so that one replica has all of their objects. More slots do
	// not divide them; names that differ before their last two characters are divided.
	HashField cache.HashField

	// LeaseDuration is the time after which the slots of a replica that no longer renews its Lease
	// are given to others, in whole seconds. Zero means 15 s.
	LeaseDuration time.Duration
	// RenewDeadline is how long a replica goes on writing after its last successful renewal. Zero
	// means two thirds of LeaseDuration. The package documentation says what it requires of clocks.
	RenewDeadline time.Duration
	// RetryPeriod is the pause between two attempts to join, to renew and to leave, and the first
	// pause after another request that fails, where it doubles up to LeaseDuration. A replica takes
	// a free slot that another one should take after one to three RetryPeriods. Zero means 2 s, or
	// a tenth of LeaseDuration if that is shorter. Together with a fifth of LeaseDuration it must
	// be less than RenewDeadline.
	RetryPeriod time.Duration
}

// The defaults of Options.
const (
	defaultSlots         = 32
	defaultLeaseDuration = 15 * time.Second
	defaultRetryPeriod   = 2 * time.Second

	renewalsPerLease = 5
	maxSlots         = 4096 // what is measured
)

func (o Options) withDefaults() Options {
	o.Slots = cmp.Or(o.Slots, defaultSlots)
	o.HashField = cmp.Or(o.HashField, cache.HashUID)
	o.LeaseDuration = cmp.Or(o.LeaseDuration, defaultLeaseDuration)
	o.RenewDeadline = cmp.Or(o.RenewDeadline, o.LeaseDuration*2/3)
	o.RetryPeriod = cmp.Or(o.RetryPeriod, min(defaultRetryPeriod, o.LeaseDuration/10))
	return o
}

// renewInterval returns the time between two renewals.
func (o Options) renewInterval() time.Duration { return o.LeaseDuration / renewalsPerLease }

var errOptions = errors.New("shard.Options")

// check returns an error for each invalid field.
func (o Options) check() error {
	var errs []error
	invalid := func(field string, value any, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: %s %v: %s", errOptions, field, value, fmt.Sprintf(format, args...)))
	}
	if reasons := validation.IsDNS1123Label(o.Group); len(reasons) > 0 {
		invalid("Group", fmt.Sprintf("%q", o.Group), "%s", strings.Join(reasons, "; "))
	}
	if reasons := validation.IsDNS1123Subdomain(o.Identity); len(reasons) > 0 {
		invalid("Identity", fmt.Sprintf("%q", o.Identity), "%s", strings.Join(reasons, "; "))
	} else if n := len(o.memberLeaseName()) - validation.DNS1123SubdomainMaxLength; n > 0 {
		invalid("Identity", fmt.Sprintf("%q", o.Identity), "together with Group must be %d characters shorter", n)
	}
	if reasons := validation.IsDNS1123Subdomain(o.Program); o.Program != "" && len(reasons) > 0 {
		invalid("Program", fmt.Sprintf("%q", o.Program), "%s", strings.Join(reasons, "; "))
	}
	if o.Slots < 1 || o.Slots > maxSlots {
		invalid("Slots", o.Slots, "must be between 1 and %d", maxSlots)
	}
	if o.HashField != cache.HashUID && o.HashField != cache.HashNamespace {
		invalid("HashField", fmt.Sprintf("%q", o.HashField), "must be %q or %q", cache.HashUID, cache.HashNamespace)
	}
	if o.LeaseDuration < time.Second || o.LeaseDuration%time.Second != 0 {
		invalid("LeaseDuration", o.LeaseDuration, "must be whole seconds, at least one")
	}
	if o.RenewDeadline >= o.LeaseDuration {
		invalid("RenewDeadline", o.RenewDeadline, "must be less than LeaseDuration, %v", o.LeaseDuration)
	}
	if o.RetryPeriod <= 0 || o.renewInterval()+o.RetryPeriod >= o.RenewDeadline {
		invalid("RetryPeriod", o.RetryPeriod, "must be positive, and together with a fifth of LeaseDuration less than RenewDeadline, %v", o.RenewDeadline)
	}
	return errors.Join(errs...)
}
