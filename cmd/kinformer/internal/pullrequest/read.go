// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/measure"
	"github.com/kinformer/kinformer/internal/units"
)

// Tests are the results of kinformer try.
type Tests struct {
	Packages []Package `json:"packages"`
	Binaries []Binary  `json:"binaries"`
	NotRun   int       `json:"notRun"`
}

// Binary is the size of a program's binary before and after. A size is 0 if the go command could
// not build it.
type Binary struct {
	Package     string `json:"package"`
	BeforeBytes int64  `json:"beforeBytes"`
	AfterBytes  int64  `json:"afterBytes"`
}

// Package has the results of a package's tests on both sides.
type Package struct {
	Package   string   `json:"package"`
	Result    string   `json:"result"`
	ClientGo  *Figures `json:"clientGo"`
	Kinformer *Figures `json:"kinformer"`
}

// Figures are those of one side.
type Figures struct {
	Informers    int   `json:"informers"`
	Tests        int   `json:"tests"`
	Failed       int   `json:"failed"`
	PeakRSSBytes int64 `json:"peakRSSBytes"`
}

// isTried reports whether the tests made an informer.
func (p Package) isTried() bool {
	return p.ClientGo != nil && p.Kinformer != nil && p.ClientGo.Informers+p.Kinformer.Informers > 0
}

// Cost is what kinformer cost has measured.
type Cost struct {
	Resources []Resource `json:"resources"`
}

// Resource is what caches of a resource take.
type Resource struct {
	Resource   string  `json:"resource"`
	Objects    int     `json:"objects"`
	Caches     []Cache `json:"caches"`
	Choice     string  `json:"choice"`
	SavedBytes int64   `json:"savedBytes"`
}

// Cache is what one cache takes.
type Cache struct {
	Cache        string `json:"cache"`
	HeapBytes    int64  `json:"heapBytes"`
	PeakRSSBytes int64  `json:"peakRSSBytes"`
}

func (r Resource) cache(variant measure.Variant) Cache {
	for _, c := range r.Caches {
		if c.Cache == string(variant) {
			return c
		}
	}
	return Cache{}
}

// IsPacked reports whether the cache to choose is packed.
func (r Resource) IsPacked() bool { return strings.HasPrefix(r.Choice, string(measure.Packed)) }

// Read reads the JSON of the two commands from files. A result is nil if its path is empty.
func Read(tryPath, costPath string) (tests *Tests, cost *Cost, err error) {
	if tryPath != "" {
		tests = &Tests{}
		if err := read("--try", tryPath, tests); err != nil {
			return nil, nil, err
		}
		if len(tests.Packages) == 0 {
			return nil, nil, fmt.Errorf("read --try: %s has no packages", tryPath)
		}
		if tests.NotRun > 0 {
			return nil, nil, fmt.Errorf("read --try: %s is of a run that was stopped: %s not tried", tryPath, units.Plural(int64(tests.NotRun), "package"))
		}
	}
	if costPath != "" {
		cost = &Cost{}
		if err := read("--cost", costPath, cost); err != nil {
			return nil, nil, err
		}
		if len(cost.Resources) == 0 {
			return nil, nil, fmt.Errorf("read --cost: %s has no resources", costPath)
		}
	}
	return tests, cost, nil
}

func read(flag, path string, to any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", flag, err)
	}
	if err := json.Unmarshal(content, to); err != nil {
		return fmt.Errorf("read %s: %s: %w", flag, path, err)
	}
	return nil
}
