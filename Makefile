# All targets need only Go and make. Tools are pinned in tools/go.mod, Kubernetes and etcd in e2e/controlplane/go.mod;
# both are built from source into .cache/, which git ignores.

MAKEFLAGS += --no-print-directory
SHELL     := /bin/sh

root    := $(CURDIR)
go      ?= go
# The modules with code. Kubernetes' clients are compiled twice: those of the oldest supported client-go with the race
# detector, for the modules that require it, and those of the newest without. test/repo holds their versions. The
# programs compile all of Kubernetes, an operator or another project's program; they are tested before a release. The
# nested modules are released with the library.
nested    := metrics simulate/simulatecr cmd/kinformer
oldest    := . test examples $(nested)
newest    := e2e bench
programs  := examples/controllerruntime e2e/controllerruntime e2e/adopters e2e/upstream
operators := $(patsubst %/go.mod,%,$(wildcard e2e/simulated/*/go.mod))

# The race detector needs cgo and a C compiler. Without one the tests run without it.
race := $(shell CC=$$($(go) env CC); \
	if [ "$$($(go) env CGO_ENABLED)" = 1 ] && command -v $${CC%% *} >/dev/null 2>&1; then echo -race; fi)

# The flags of the tests: govet is one of the linters, and a binary without DWARF is linked in half the time.
gotest := test -vet=off -ldflags=-w

include .ci/realtime.mk

# The version of client-go for make test-version: the newest supported one, unless K8S says another one.
K8S      ?= $(shell sed -n 's,^\tk8s.io/client-go ,,p' e2e/go.mod)
modfiles := $(root)/.cache/client-go/$(K8S)

# The file names have the versions of Go and of the tools, so that an existing file is never out of date.
version := $(shell cat tools/go.mod tools/go.sum | cksum | cut -d' ' -f1)-$(shell $(go) env GOVERSION)
linter  := $(root)/.cache/bin/golangci-lint-$(version)
vulns   := $(root)/.cache/bin/govulncheck-$(version)
apidiff := $(root)/.cache/bin/apidiff-$(version)

# The vulnerability database. VULNDB=file:///path is a mirror, see https://go.dev/security/vuln/database.
VULNDB  ?= https://vuln.go.dev

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test test-version stress mutants simulate soak lint vulns fuzz fmt bench bench-adopters bench-apiserver bench-million e2e e2e-build e2e-programs compile size release clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# "go run" would report every Ctrl-C as a failure. ARGS are the program's flags: make run ARGS="--nodes 50".
run: ## Run the node cache against an embedded API server
	@mkdir -p .cache/bin
	$(go) -C examples build -o ../.cache/bin/nodecache ./nodecache
	@.cache/bin/nodecache $(ARGS)

# Packages are compiled first, so that no compiler runs beside a test. The tests of $(realtime) use sockets, processes or
# real time, and have the machine to themselves; those of the others run in bubbles, or do not wait.
library = $(shell $(go) list -f '{{if or .TestGoFiles .XTestGoFiles}}.{{slice .ImportPath 30}}{{end}}' ./...)
whole   = ./conformance ./faults ./model ./repo ./size ./soak
# These read files of other modules, whose changes go test does not notice.
readers = ./repo ./size
test: ## Run the tests of the library with the race detector, the example of tests, and a simulation
	@[ -n "$(race)" ] || echo "make test: no C compiler (or CGO_ENABLED=0), so the tests run WITHOUT the race detector"
	@$(go) list $(race) -export -test $(library) >/dev/null
	@$(go) -C metrics list $(race) -export -test . >/dev/null
	@$(go) -C test list $(race) -export -test $(whole) >/dev/null
	@$(go) -C examples list $(race) -export -test ./testing ./controller >/dev/null
	$(go) $(gotest) $(race) -p 2 $(filter-out $(realtime),$(library))
	$(go) $(gotest) $(race) -p 1 $(filter $(realtime),$(library))
	$(go) -C metrics $(gotest) $(race) -count=1 . # reads docs
	$(go) -C test $(gotest) $(race) -p 1 $(filter-out $(readers),$(whole))
	$(go) -C test $(gotest) $(race) -count=1 -p 1 $(readers)
	$(go) -C examples $(gotest) $(race) ./testing
	$(go) -C examples $(gotest) $(race) ./controller -run Simulated -simulate.runs=100

test-version: $(modfiles)/library.mod $(modfiles)/metrics.mod $(modfiles)/test.mod ## Run the library's tests with another client-go, by default the newest supported: K8S=v0.38.0-rc.0
	$(go) $(gotest) -modfile=$(modfiles)/library.mod -count=1 -p 1 ./cache ./clientgo/... ./debug ./fake/... ./follow ./internal/... ./shard ./simulate/...
	GOWORK=off $(go) -C metrics $(gotest) -modfile=$(modfiles)/metrics.mod -count=1 .
	$(go) -C test $(gotest) -modfile=$(modfiles)/test.mod -count=1 -p 1 ./conformance ./faults ./model

$(root)/.cache/newest.work: go.mod e2e/go.mod
	@mkdir -p $(@D) && rm -f $@ $@.sum
	@GOWORK=$@ $(go) work init . e2e

$(modfiles)/library.mod: go.mod go.sum
	@mkdir -p $(@D)
	@cp go.mod $@ && cp go.sum $(@:.mod=.sum)
	$(go) get -modfile=$@ k8s.io/client-go@$(K8S)
	$(go) mod tidy -modfile=$@

$(modfiles)/metrics.mod: metrics/go.mod metrics/go.sum
	@mkdir -p $(@D)
	@cp metrics/go.mod $@ && cp metrics/go.sum $(@:.mod=.sum)
	@GOWORK=off $(go) -C metrics mod edit -replace github.com/kinformer/kinformer=../ $@
	GOWORK=off $(go) -C metrics get -modfile=$@ k8s.io/client-go@$(K8S)
	GOWORK=off $(go) -C metrics mod tidy -modfile=$@

$(modfiles)/test.mod: test/go.mod test/go.sum
	@mkdir -p $(@D)
	@cp test/go.mod $@ && cp test/go.sum $(@:.mod=.sum)
	$(go) -C test get -modfile=$@ k8s.io/client-go@$(K8S)
	$(go) -C test mod tidy -modfile=$@

# N and SEED select programs of test/model alone: make stress N=5000 SEED=1. PAIRS=/tmp/pairs counts the pairs and triples of faults.
stress: ## Run the random tests of internal/ and shard/ with many more rounds, all of test/faults, 100,000 programs of scopes and of legal servers, and 20,000 others (half an hour; only N programs of each kind, from SEED on: a minute per 5,000)
	$(if $(N),,$(go) test $(race) -tags stress -timeout 60m ./internal/...)
	$(if $(N),,$(go) -C test test $(race) -tags stress -timeout 60m ./faults)
	$(if $(N),,$(go) test -tags stress -timeout 60m ./shard)
	$(go) -C test test $(if $(N),$(race)) -timeout 60m ./model -run TestScopesFollowModel -rapid.checks=$(or $(N),100000) -rapid.seed=$(or $(SEED),0)
	$(go) -C test test -timeout 60m ./model -run TestLegalServersAreFollowed -rapid.checks=$(or $(N),100000) -rapid.seed=$(or $(SEED),0)
	$(go) -C test test $(race) ./model -run TestInformerFollowsModel -count=1 -v -timeout 0 -model.seed=$(or $(SEED),1) -model.programs=$(or $(N),20000) -model.pairs=$(PAIRS)

# SAMPLE=15 runs that many, others for each commit; SEED repeats a sample. ONLY='reflector|relist' selects by name or
# file. BY='./test/model -model.programs=500' runs those tests alone, and does not fail if mutants survive them.
mutants: $(modfiles)/library.mod ## Run the tests against broken variants of the code (half an hour; SAMPLE=15 runs some of them)
	$(go) -C test run ./mutants $(race) -modfile=$(modfiles)/library.mod $(if $(SAMPLE),-sample=$(SAMPLE)) $(if $(SEED),-seed=$(SEED)) $(if $(ONLY),-only="$(ONLY)") $(if $(BY),-by="$(BY)")

simulate: ## Run the simulations at length (RUNS=10000 of each test; an hour), and those of five operators
	$(go) test -count=1 -timeout 0 -v ./simulate -run 'Pass(es)?$$|BugsAreFound' -simulate.runs=$(or $(RUNS),10000)
	$(go) -C examples test -count=1 -timeout 0 -v ./controller -run Simulated -simulate.runs=$(or $(RUNS),10000)
	$(go) -C examples/controllerruntime test -count=1 -timeout 0 -v . -run Simulated -simulate.runs=$(or $(RUNS),10000)
	for m in e2e/simulated/*/go.mod; do $(go) -C $$(dirname $$m) test -count=1 -timeout 0 -v ./... || exit 1; done # each compiles an operator

# FOR is how long it takes: make soak FOR=2h.
soak: ## Run informers of every kind under random faults, and check that they recover and do not grow (30 minutes)
	$(go) -C test test $(race) ./soak -count=1 -v -timeout 0 -soak.for=$(or $(FOR),30m) -soak.seed=$(or $(SEED),1)

# With the race detector the simulation of shards is not built, so that package is linted once more without. golangci-lint
# refuses -modfile; a workspace with e2e has its versions.
lint: $(linter) $(vulns) $(root)/.cache/newest.work ## Lint and vet the modules, and look for known vulnerabilities in those that users import (4 minutes; 10 the first time, which compiles Kubernetes' clients)
	@failed=; for m in $(oldest); do echo "golangci-lint run  # in $$m"; \
		(cd $$m && GOFLAGS="$$($(go) env GOFLAGS) $(race)" $(linter) run --config $(root)/.golangci.yml ./...) || failed=yes; done; [ -z "$$failed" ]
	@failed=; for m in $(newest); do echo "golangci-lint run  # in $$m"; \
		(cd $$m && $(linter) run --config $(root)/.golangci.yml ./...) || failed=yes; done; [ -z "$$failed" ]
	@echo "golangci-lint run ./shard  # with the newest client-go"
	@GOWORK=$(root)/.cache/newest.work $(linter) run --config $(root)/.golangci.yml ./shard
	@.ci/vulncheck $(vulns) $(VULNDB) . $(nested)

vulns: $(vulns) ## Look for known vulnerabilities in all modules
	@.ci/vulncheck $(vulns) $(VULNDB) $(oldest) $(newest) $(programs)

# What a target finds is written to testdata/fuzz of its package, and tested by make test from then on.
FUZZTIME ?= 30s
fuzz: ## Fuzz each decoder for FUZZTIME, 30s by default (15 minutes)
	@for f in $$(grep -rl '^func Fuzz' --include=*_test.go internal); do for t in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' $$f); do \
		echo "$(go) test -fuzz $$t ./$$(dirname $$f)"; \
		$(go) test -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) ./$$(dirname $$f) || exit 1; done; done

fmt: $(linter) ## Format every module
	@for m in $(oldest) $(newest) $(programs); do (cd $$m && $(linter) fmt --config $(root)/.golangci.yml ./...) || exit 1; done

# ARGS select what to measure, without writing the figures: make bench ARGS="-row get-by-key -rounds 2".
bench: ## Measure against client-go and write docs/benchmarks, docs/benchmarks.md and the table of docs/memory.md (35 minutes)
	$(go) -C bench run . $(or $(ARGS),-write ..)

bench-apiserver: e2e-build ## Measure initial sync from a real kube-apiserver and write its section (6 minutes)
	$(go) -C bench run . -only apiserver $(or $(ARGS),-write ..)

bench-adopters: ## Measure prometheus' Kubernetes discovery and write its table (3 minutes)
	cd e2e/adopters && $(go) run ./prometheus/measure $(or $(ARGS),-write ../../docs/benchmarks/rows.md)

bench-million: ## Measure a million packed Pods and write their section (6 minutes; client-go needs 8 GB)
	$(go) -C bench run . -only million $(or $(ARGS),-write ..)

e2e-build: ## Build kube-apiserver, etcd and etcdutl into .cache (3 minutes the first time)
	$(go) -C e2e run ./build

# Users import . and the nested modules. Vet compiles their tests too; those of what depends on the size of an int run as
# well. CI runs this for each change; .ci/run, which does not compile Kubernetes' clients once more, only checks the code
# with the sizes of 386 (test/repo).
sized = ./internal/eventlog ./internal/history ./internal/intern ./internal/pack ./internal/protowire ./internal/snapmap
compile: ## Compile the library and the nested modules for arm64, 386, macOS and Windows, and test a part of it on 386
	@[ "$$($(go) env GOHOSTOS)/$$($(go) env GOHOSTARCH)" != linux/amd64 ] || { export CGO_ENABLED=0 GOARCH=386; \
		$(go) $(gotest) $(sized) && $(go) $(gotest) ./cache -run TestObjectOfEmptyElementsIsNotDecoded; }
	@for p in linux/arm64 linux/386 darwin/arm64 windows/amd64; do os=$${p%/*}; \
		modules=". $(nested)"; [ $$os = linux ] || modules="$(oldest) examples/controllerruntime"; \
		for m in $$modules; do echo "GOOS=$$os GOARCH=$${p#*/} $(go) -C $$m vet ./..."; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$${p#*/} $(go) -C $$m vet ./... || exit 1; done; done

# ARGS="-write ../docs/adopting.md" writes the totals.
size: ## Print what a program compiles of kinformer: packages, files, lines, and what they are for
	@$(go) -C test run ./size $(ARGS)

e2e: e2e-build ## Run the tests against a real kube-apiserver and etcd, and those of the command, the mutants and the examples
	$(go) -C e2e $(gotest) -count=1 -timeout=20m -v ./...
	$(go) -C cmd/kinformer $(gotest) $(race) -count=1 ./...
	$(go) -C test $(gotest) $(race) -count=1 ./mutants
	$(go) -C examples $(gotest) $(race) -count=1 ./... # each as a process
	$(go) -C simulate/simulatecr $(gotest) $(race) -count=1 .

# The last result stands in e2e/programs.txt. A test fails if it is older than 300 commits.
e2e-programs: e2e-build $(linter) ## Lint and test what compiles all of Kubernetes, an operator or another project's program, and write the result (an hour)
	@.ci/e2e-programs $(linter) "$(programs)" "$(operators)"

# VERSION is that of the release, by default the next minor one: make release VERSION=v0.2.0.
release: $(apidiff) ## Check what the tags of a release need, write its notes, and print the commands that release it; it makes no tag
	@.ci/release $(apidiff) $(VERSION)

clean: ## Remove built tools and binaries
	rm -rf .cache

$(linter): tools/go.mod tools/go.sum
	@echo "building golangci-lint (a minute, once)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 $(go) -C tools build -buildvcs=false -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(vulns): tools/go.mod tools/go.sum
	@echo "building govulncheck"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 $(go) -C tools build -buildvcs=false -o $@ golang.org/x/vuln/cmd/govulncheck

$(apidiff): tools/go.mod tools/go.sum
	@echo "building apidiff"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 $(go) -C tools build -buildvcs=false -o $@ golang.org/x/exp/cmd/apidiff
