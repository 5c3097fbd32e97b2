# Everything here needs Go and make, nothing else: tools are pinned in tools/go.mod, Kubernetes and etcd in
# e2e/controlplane/go.mod, and both are built from source into .cache/, which git ignores.

MAKEFLAGS += --no-print-directory
SHELL     := /bin/sh

root    := $(CURDIR)
go      ?= go
# Modules that have code of their own. A folder that is not there is passed over.
nested  := $(patsubst %/go.mod,%,$(wildcard bench/go.mod e2e/go.mod e2e/controllerruntime/go.mod e2e/upstream/go.mod))
modules := . $(nested)

# The race detector needs cgo and a C compiler. Without one the tests run all the same.
race := $(shell CC=$$($(go) env CC); \
	if [ "$$($(go) env CGO_ENABLED)" = 1 ] && command -v $${CC%% *} >/dev/null 2>&1; then echo -race; fi)

# Another Go, or another version of the tool, is another file: what is there is never out of date.
linter  := $(root)/.cache/bin/golangci-lint-$(shell cat tools/go.mod tools/go.sum | cksum | cut -d' ' -f1)-$(shell $(go) env GOVERSION)

.DEFAULT_GOAL := help
.PHONY: help run test lint fmt bench bench-apiserver bench-million e2e e2e-build clean

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Built and not "go run", which calls every Ctrl-C a failure. ARGS are its flags: make run ARGS="--nodes 50".
run: ## Run the node cache against an API server that it brings along
	@mkdir -p .cache/bin
	$(go) build -o .cache/bin/nodecache ./examples/nodecache
	@.cache/bin/nodecache $(ARGS)

test: ## Run the tests of the library with the race detector, and vet every module
	@[ -n "$(race)" ] || echo "make test: no C compiler (or CGO_ENABLED=0), so the tests run WITHOUT the race detector"
	$(go) test $(race) ./...
	@for m in $(nested); do echo "$(go) -C $$m vet ./..."; $(go) -C $$m vet ./... || exit 1; done

lint: $(linter) ## Lint every module with .golangci.yml
	@failed=; for m in $(modules); do echo "golangci-lint run  # in $$m"; \
		(cd $$m && $(linter) run --config $(root)/.golangci.yml ./...) || failed=yes; done; [ -z "$$failed" ]

fmt: $(linter) ## Format every module as the linter wants it
	@for m in $(modules); do (cd $$m && $(linter) fmt --config $(root)/.golangci.yml ./...) || exit 1; done

# Without ARGS, as they are committed: make bench ARGS="-row P6 -rounds 1" measures less and writes nothing.
bench: ## Measure against client-go (15 minutes), into one table in docs/benchmarks.md
	$(go) -C bench run . $(or $(ARGS),-write ../docs/benchmarks.md)

bench-apiserver: e2e-build ## Measure initial sync from a real kube-apiserver (5 minutes), into the same page
	$(go) -C bench run . -only apiserver $(or $(ARGS),-write ../docs/benchmarks.md)

bench-million: ## Measure a million packed Pods (6 minutes, 8 GB, most of both client-go's), into the same page
	$(go) -C bench run . -only million $(or $(ARGS),-write ../docs/benchmarks.md)

e2e-build: ## Build kube-apiserver, etcd and etcdutl into .cache (3 minutes the first time)
	$(go) -C e2e run ./build

# The last of these runs the library's own tests with the client-go that e2e/upstream has, v0.36, which lacks one function.
e2e: e2e-build ## Run the tests against a real kube-apiserver and etcd
	$(go) -C e2e test $(race) -count=1 -timeout=20m -v ./...
	$(go) -C e2e/controllerruntime test $(race) -count=1 -v ./...
	$(go) -C e2e/upstream test -count=1 -timeout=20m -v ./... # with the race detector, all of Kubernetes would be compiled once more
	@printf '{"Replace": {"%s": ""}}' $(root)/clientgo/facts_shutdown_test.go > .cache/client-go-v0.36.json
	$(go) -C e2e/upstream test -count=1 -overlay=$(root)/.cache/client-go-v0.36.json github.com/kinformer/kinformer/cache github.com/kinformer/kinformer/clientgo

clean: ## Remove what was built; the next run builds it again
	rm -rf .cache

$(linter): tools/go.mod tools/go.sum
	@echo "building golangci-lint (a minute, once)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 $(go) -C tools build -buildvcs=false -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
