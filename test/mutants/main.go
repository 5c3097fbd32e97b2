// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var s selection
	flag.IntVar(&s.sample, "sample", 0, "number of mutants to run, all if 0")
	flag.Uint64Var(&s.seed, "seed", 0, "selects the sample; the default depends on the commit")
	flag.StringVar(&s.only, "only", "", "run the mutants whose names or files match this regular expression")
	named := flag.Bool("named", false, "run only the tests that the mutants name")
	parallel := flag.Int("parallel", max(1, runtime.NumCPU()/2), "number of mutants to run at a time")
	race := flag.Bool("race", false, "run the tests with the race detector, but those of ./shard")
	modfile := flag.String("modfile", "", "the go.mod for the tests of ./shard")
	by := flag.String("by", "", "run only these tests, such as ./test/model: arguments of go test")
	flag.Parse()
	failed, err := run(ctx, s, &runner{named: *named, race: *race, modfile: *modfile, parallel: *parallel, by: strings.Fields(*by)})
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case failed:
		os.Exit(1)
	}
}

func run(ctx context.Context, s selection, r *runner) (failed bool, err error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return false, err
	}
	all, err := load(filepath.Join(root, "test", "mutants", "*.diff"))
	if err != nil {
		return false, err
	}
	chosen, err := s.of(ctx, all)
	if err != nil {
		return false, err
	}
	r.root = root
	if r.rapid, err = packagesWithRapid(ctx, root); err != nil {
		return false, err
	}
	return r.run(ctx, chosen)
}

// selection says which mutants run.
type selection struct {
	sample int
	seed   uint64
	only   string
}

// of returns the selected mutants.
func (s selection) of(ctx context.Context, all []mutant) (chosen []mutant, err error) {
	only, err := regexp.Compile(s.only)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if only.MatchString(m.name) || only.MatchString(m.file) {
			chosen = append(chosen, m)
		}
	}
	if s.sample == 0 || s.sample >= len(chosen) {
		return chosen, nil
	}
	seed := s.seed
	if seed == 0 {
		seed = seedOfCommit(ctx)
	}
	fmt.Printf("a sample of %d of %d mutants; to repeat it: make mutants SAMPLE=%d SEED=%d\n\n", s.sample, len(chosen), s.sample, seed)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen[:s.sample], nil
}

// seedOfCommit returns a number that differs from commit to commit, or at random without git.
func seedOfCommit(ctx context.Context) uint64 {
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=8", "HEAD").Output()
	if err == nil {
		if seed, err := strconv.ParseUint(strings.TrimSpace(string(out)), 16, 64); err == nil {
			return seed
		}
	}
	return rand.Uint64N(1 << 32)
}
