# The workshop's only interface: `make help` lists it. Everything that a target
# needs beyond Go it builds from pinned Go modules into bin/.
SHELL := /bin/bash -o pipefail
.SHELLFLAGS := -ec
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

IMAGE ?= quay.io/open-cluster-management/helloworld-addon:latest
CLUSTERS ?= 1
SANDBOX_DIR ?= .sandbox
# vX.Y.Z and what comes after: Kubernetes' libraries panic at any other version
VERSION ?= $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || echo v0.0.0-$$(git describe --always --dirty 2>/dev/null || echo unknown))
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# kubectl from the PATH, or the one that the sandbox builds
KUBECTL ?= $(shell command -v kubectl || echo $(CURDIR)/bin/sandbox/kubectl)

# the same flags everywhere, or everything is compiled twice
export CGO_ENABLED := 0
GO_BUILD := go build -trimpath
VERSION_PKG := k8s.io/component-base/version
LDFLAGS := -s -w -X $(VERSION_PKG).gitVersion=$(VERSION) -X $(VERSION_PKG).gitCommit=$(COMMIT)
PROGRAMS := $(notdir $(wildcard cmd/*))
IMAGE_ROOT := bin/image
SANDBOX := bin/ocm-sandbox --dir=$(SANDBOX_DIR) --programs=bin/sandbox --module=test/sandbox/programs
TEST_FLAGS ?=
# where the modules' tests find the built programs
export SANDBOX_PROGRAMS := $(CURDIR)/bin/sandbox
export SANDBOX_MODULE := $(CURDIR)/test/sandbox/programs

##@ The two commands

.PHONY: demo
demo: bin/ocm-sandbox image-root bin/ocm-demo ## Run the main job before your eyes (ONCE=1: end when all has been seen)
	@bin/ocm-demo --sandbox="$(SANDBOX)" --dir=$(SANDBOX_DIR) --clusters=$(CLUSTERS) \
		--image=$(IMAGE) --image-root=$(IMAGE_ROOT) --kubectl=bin/sandbox/kubectl $(if $(ONCE),--once)

.PHONY: test
test: test-unit test-sandbox test-e2e ## All tests that pass within 10 minutes once the programs are built

##@ Development

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' Makefile
	@printf '\nVariables: IMAGE, CLUSTERS (%s), SANDBOX_DIR (%s), KUBECONFIG (deploy-example), ONCE (demo)\n' '$(CLUSTERS)' '$(SANDBOX_DIR)'

.PHONY: build
build: ## Build the add-on's programs into bin/
	@for p in $(PROGRAMS); do $(GO_BUILD) -ldflags '$(LDFLAGS)' -o bin/$$p ./cmd/$$p; done

.PHONY: image-root
image-root: build ## Lay the programs out as in the image, for the sandbox's pods
	@mkdir -p $(IMAGE_ROOT)/usr/local/bin
	@for p in $(PROGRAMS); do install -m 0755 bin/$$p $(IMAGE_ROOT)/usr/local/bin/$$p; done

.PHONY: images
images: ## Build the image IMAGE with Docker
	docker build --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t $(IMAGE) .

.PHONY: fmt
fmt: bin/golangci-lint ## Format all Go code
	bin/golangci-lint fmt ./...
	cd test/sandbox && $(CURDIR)/bin/golangci-lint fmt --config $(CURDIR)/.golangci.yml ./...

.PHONY: lint
lint: bin/golangci-lint ## Check style and the rules of which package may import which
	bin/golangci-lint run --build-tags e2e ./...
	cd test/sandbox && $(CURDIR)/bin/golangci-lint run --build-tags sandbox --config $(CURDIR)/.golangci.yml ./...

bin/golangci-lint: tools/go.mod tools/go.sum
	@echo "building the linter, once: about 3 minutes"
	@cd tools && $(GO_BUILD) -ldflags '-s -w' -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

##@ Tests

.PHONY: test-unit
test-unit: ## Test what needs no cluster
	go test -trimpath $(TEST_FLAGS) ./...

.PHONY: test-sandbox
test-sandbox: sandbox-programs ## Test the sandbox itself, with real control planes
	go test -C test/sandbox -trimpath -tags sandbox -timeout 8m $(TEST_FLAGS) ./...

.PHONY: test-e2e
test-e2e: sandbox-programs image-root ## Run the end-to-end scenarios on a sandbox with two managed clusters
	@test/e2e/on-sandbox $(IMAGE) $(IMAGE_ROOT) $(TEST_FLAGS)

.PHONY: test-long
test-long: export LONG_TESTS := 1
test-long: test ## make test with its long cases, and fuzzing (FUZZTIME=30s each)
	@test/long

##@ The sandbox: OCM on this machine without Docker

.PHONY: bin/ocm-sandbox
bin/ocm-sandbox:
	@go build -C test/sandbox -trimpath -o $(CURDIR)/$@ ./cmd/ocm-sandbox

.PHONY: bin/ocm-demo
bin/ocm-demo:
	@go build -C test/sandbox -trimpath -o $(CURDIR)/$@ ./cmd/ocm-demo

.PHONY: sandbox-programs
sandbox-programs: bin/ocm-sandbox ## Build etcd, Kubernetes and OCM from their Go modules (once, 8 to 10 minutes)
	@$(SANDBOX) build

.PHONY: sandbox-up
sandbox-up: bin/ocm-sandbox image-root ## Start a hub and CLUSTERS managed clusters, joined and available
	@$(SANDBOX) up --clusters=$(CLUSTERS) --image=$(IMAGE)=$(IMAGE_ROOT)

.PHONY: sandbox-status
sandbox-status: bin/ocm-sandbox ## Show the sandbox's clusters, their kubeconfigs and memory
	@$(SANDBOX) status

.PHONY: sandbox-down
sandbox-down: bin/ocm-sandbox ## End the sandbox: no process and no file is left
	@$(SANDBOX) down

##@ On a hub

.PHONY: deploy-example
deploy-example: $(KUBECTL) ## Install the add-on on the hub that KUBECONFIG names
	@deploy/apply $(KUBECTL) $(IMAGE)

.PHONY: undeploy-example
undeploy-example: $(KUBECTL) ## Remove the add-on from the hub that KUBECONFIG names
	@deploy/remove $(KUBECTL) $(IMAGE)

$(CURDIR)/bin/sandbox/kubectl: bin/ocm-sandbox
	@$(SANDBOX) build kubectl

.PHONY: clean
clean: sandbox-down ## Remove everything that was built
	rm -rf bin artifacts
