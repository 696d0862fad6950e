# The only interface to building, testing and trying: `make help` lists it. Everything that a target
# needs beyond Go it builds from pinned Go modules into bin/.
SHELL := /bin/bash -o pipefail
.SHELLFLAGS := -ec
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# the latest release, which `make release-prepare` changes
RELEASED := $(shell cat VERSION)
IMAGE ?= quay.io/open-cluster-management/helloworld-addon:$(RELEASED)
# The clusters' image, with the agent and the sidecar alone: IMAGE with -agent after the repository.
# For example, localhost:5000/addon:v1@sha256:… becomes localhost:5000/addon-agent:v1.
AGENT_IMAGE ?= $(shell sed -E 's|^([^@]*/)?([^:@]*)(:[^@]*)?(@.*)?$$|\1\2-agent\3|' <<<'$(IMAGE)')
# empty unless the user set it
AGENT_IMAGE_SET = $(if $(filter-out file,$(origin AGENT_IMAGE)),$(AGENT_IMAGE))
CLUSTERS ?= 1
SANDBOX_DIR ?= .sandbox
VERSION ?= $(shell tools/version)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# kubectl from the PATH, or the one that the sandbox builds
KUBECTL ?= $(shell command -v kubectl || echo $(CURDIR)/bin/sandbox/kubectl)

# the file to build first, when it is that one
BUILT_KUBECTL = $(filter $(CURDIR)/bin/sandbox/kubectl,$(KUBECTL))

# the same flags everywhere, or everything is compiled twice
export CGO_ENABLED := 0
GO_BUILD := go build -trimpath
VERSION_PKG := k8s.io/component-base/version
LDFLAGS := -s -w -X $(VERSION_PKG).gitVersion=$(VERSION) -X $(VERSION_PKG).gitCommit=$(COMMIT)
PROGRAMS := $(notdir $(wildcard cmd/*))
# what the images hold: not the plugin, which users run; the Dockerfile and the release have the same lists
IMAGE_PROGRAMS := $(filter-out kubectl-%,$(PROGRAMS))
# what clusters run
AGENT_PROGRAMS := helloworld-agent klusterlet-addon-lease-controller
IMAGE_ROOT := bin/image
AGENT_IMAGE_ROOT := bin/agent-image
IMAGE_ARGS = --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT)
PLATFORMS ?= linux/amd64,linux/arm64
SANDBOX := bin/ocm-sandbox --dir='$(SANDBOX_DIR)' --programs=bin/sandbox --module=sandbox/programs
TEST_FLAGS ?=
# the modules with Go code of ours
MODULES := $(patsubst %/,%,$(sort . $(dir $(wildcard sandbox/go.mod sandbox/programs/go.mod hub-of-hubs-status-sync/go.mod hub-of-hubs-status-sync/test/go.mod test/*/go.mod tools/go.mod tools/controller-gen/go.mod tools/release/go.mod))))
LINT = GOFLAGS=-trimpath $(CURDIR)/bin/golangci-lint
# where the modules' tests find the built programs
export SANDBOX_PROGRAMS := $(CURDIR)/bin/sandbox
export SANDBOX_MODULE := $(CURDIR)/sandbox/programs

##@ The add-on

.PHONY: demo
demo: bin/ocm-sandbox image-root bin/ocm-demo ## Start a hub and a managed cluster, and show the add-on at work (ONCE=1: then end)
	@bin/ocm-demo --dir='$(SANDBOX_DIR)' --clusters='$(CLUSTERS)' --image='$(IMAGE)' $(if $(ONCE),--once)

.PHONY: build
build: ## Build the programs into bin/
	@test -e bin/helloworld-agent || echo "building the add-on's programs: about a minute the first time"
	@for p in $(PROGRAMS); do $(GO_BUILD) -ldflags '$(LDFLAGS)' -o bin/$$p ./cmd/$$p; done

.PHONY: run
run: ## Run the lease sidecar on this machine: ARGS='-lease-name=…' (docs/lease-sidecar.md)
	@$(GO_BUILD) -ldflags '$(LDFLAGS)' -o bin/klusterlet-addon-lease-controller ./cmd/klusterlet-addon-lease-controller
	@exec bin/klusterlet-addon-lease-controller $(ARGS)

.PHONY: image-root
image-root: build ## Lay the programs out as in the images, for the sandbox's pods
	@mkdir -p $(IMAGE_ROOT)/usr/local/bin $(AGENT_IMAGE_ROOT)/usr/local/bin
	@# a file that is the same stays as it is, for the sandboxes that run it
	@for p in $(IMAGE_PROGRAMS); do install -C -m 0755 bin/$$p $(IMAGE_ROOT)/usr/local/bin/$$p; done
	@for p in $(AGENT_PROGRAMS); do install -C -m 0755 bin/$$p $(AGENT_IMAGE_ROOT)/usr/local/bin/$$p; done

# IMAGE last: where both have one name, it has to hold all programs
.PHONY: images
images: image-root ## Build IMAGE, and AGENT_IMAGE for clusters, with Docker, from the built programs alone
	@docker build --quiet --file Dockerfile --target agent-prebuilt $(IMAGE_ARGS) --tag $(AGENT_IMAGE) $(AGENT_IMAGE_ROOT) >/dev/null
	@echo "$(AGENT_IMAGE): $(VERSION)"
	@docker build --quiet --file Dockerfile --target prebuilt $(IMAGE_ARGS) --tag $(IMAGE) $(IMAGE_ROOT) >/dev/null
	@echo "$(IMAGE): $(VERSION)"

.PHONY: images-multiarch
images-multiarch: ## Build both for PLATFORMS with Docker's buildx; PUSH=1 pushes them, else they are archives in bin/
	@PUSH=$(PUSH) tools/images-multiarch '$(IMAGE)' '$(AGENT_IMAGE)' '$(PLATFORMS)' '$(LDFLAGS)' $(IMAGE_ARGS)

.PHONY: deploy-example
deploy-example: $(BUILT_KUBECTL) ## Install it on the hub that KUBECONFIG names (AGENT_IMAGE: the agents' image; DISTRIBUTION=1: ConfigMapReplicaSets)
	@DISTRIBUTION='$(DISTRIBUTION)' deploy/apply '$(KUBECTL)' '$(IMAGE)' '$(AGENT_IMAGE_SET)'

.PHONY: undeploy-example
undeploy-example: $(BUILT_KUBECTL) ## Remove it from the hub that KUBECONFIG names
	@DISTRIBUTION= deploy/remove '$(KUBECTL)' '$(IMAGE)'

.PHONY: picture
picture: bin/ocm-sandbox image-root bin/ocm-demo ## Record docs/demo.svg and the pictures in docs/kubectl/ from real runs
	@$(GO_BUILD) -o bin/demo-picture ./test/demo/cmd/demo-picture
	@bin/ocm-demo --dir='$(SANDBOX_DIR)' --image='$(IMAGE)' --once | bin/demo-picture --out=docs/demo.svg
	@test/doctor/record '$(IMAGE)' '$(IMAGE_ROOT)'

.PHONY: picture-dashboards
picture-dashboards: sandbox-programs image-root bin/promtool hub-of-hubs-programs ## Record docs/monitoring/*.svg, the dashboards, from real runs (needs PostgreSQL): a quarter of an hour
	@go build -C hub-of-hubs-status-sync/test -trimpath -o $(CURDIR)/bin/demo-hub-of-hubs ./cmd/demo-hub-of-hubs
	@test/monitoring/record '$(IMAGE)' '$(IMAGE_ROOT)'

BENCH_FLAGS ?=
BENCH_JSON ?= artifacts/bench.json

.PHONY: bench
bench: sandbox-programs image-root ## Measure it beside the floor and the rival: an hour (BENCH_FLAGS=--quick: minutes)
	@test/bench/run '$(IMAGE)' '$(IMAGE_ROOT)' '$(BENCH_JSON)' $(BENCH_FLAGS)

.PHONY: fleet-hub
fleet-hub: sandbox-programs build ## Measure the hub controller with 5,000 clusters (FLEET_FLAGS=--quick: 500)
	@go build -C test/fleet -trimpath -o $(CURDIR)/bin/fleet-hub ./cmd/fleet-hub
	@unshare --map-root-user --net sh -c 'ip link set lo up && exec "$$@"' sh bin/fleet-hub --version="$$(tools/version)" \
		--command='make fleet-hub FLEET_FLAGS="$(FLEET_FLAGS)"' $(FLEET_FLAGS)

# what the user set, not the sandbox's default
FLEET_CLUSTERS = $(or $(if $(filter-out file,$(origin CLUSTERS)),$(CLUSTERS)),500)
STEPS ?=
# more flags of bin/bench-fleet; --help lists them
BENCH_FLEET_FLAGS ?=

.PHONY: bench-fleet
bench-fleet: sandbox-programs build ## Measure it on CLUSTERS simulated clusters, 500 by default (STEPS=join,enable, QUICK=1): docs/fleet.md
	@test/fleet/run --clusters=$(FLEET_CLUSTERS) $(if $(STEPS),--steps=$(STEPS)) $(if $(QUICK),--quick) $(BENCH_FLEET_FLAGS) \
		--command='make bench-fleet CLUSTERS=$(FLEET_CLUSTERS)$(if $(STEPS), STEPS=$(STEPS))$(if $(QUICK), QUICK=1)$(if $(BENCH_FLEET_FLAGS), BENCH_FLEET_FLAGS="$(BENCH_FLEET_FLAGS)")'

CALIBRATE_FLAGS ?=

.PHONY: calibrate-fleet
calibrate-fleet: sandbox-programs image-root ## Compare CLUSTERS simulated clusters with as many real ones, by their requests to the hub: 6 minutes
	@test/fleet/calibrate/on-sandbox '$(CLUSTERS)' '$(IMAGE)' '$(IMAGE_ROOT)' $(CALIBRATE_FLAGS)

# the runs that docs/fleet.md shows
FLEET_RUNS ?= $(wildcard docs/fleet/*.json)

.PHONY: fleet-report
fleet-report: ## Write docs/fleet.md's tables and charts from the JSON of FLEET_RUNS (docs/fleet/*.json)
	@go run -C test/fleet -trimpath ./cmd/fleet-report --page=$(CURDIR)/docs/fleet.md $(abspath $(FLEET_RUNS))

##@ The sandbox: OCM on this machine without Docker

.PHONY: sandbox-programs
sandbox-programs: bin/ocm-sandbox ## Build etcd, Kubernetes and OCM from their Go modules (once, 6 to 9 minutes)
	@$(SANDBOX) build

.PHONY: sandbox-up
sandbox-up: bin/ocm-sandbox image-root ## Start a hub and CLUSTERS managed clusters, joined and available
	@$(SANDBOX) up --clusters='$(CLUSTERS)' --image='$(IMAGE)=$(IMAGE_ROOT)'

.PHONY: sandbox-status
sandbox-status: bin/ocm-sandbox ## Show the sandbox's clusters, their kubeconfigs and memory
	@$(SANDBOX) status

.PHONY: sandbox-down
sandbox-down: bin/ocm-sandbox ## End the sandbox: no process and no file is left
	@$(SANDBOX) down

##@ The hub of hubs

HUB_OF_HUBS_REGISTRY ?= quay.io/open-cluster-management
HUB_OF_HUBS_TAG ?= $(RELEASED)

.PHONY: hub-of-hubs-programs
hub-of-hubs-programs: ## Build its programs into hub-of-hubs-status-sync/bin/
	@$(MAKE) -C hub-of-hubs-status-sync build

.PHONY: hub-of-hubs-images
hub-of-hubs-images: ## Build their image HUB_OF_HUBS_REGISTRY/hub-of-hubs-status-sync:HUB_OF_HUBS_TAG with Docker
	@$(MAKE) -C hub-of-hubs-status-sync build-images REGISTRY=$(HUB_OF_HUBS_REGISTRY) IMAGE_TAG=$(HUB_OF_HUBS_TAG)

.PHONY: demo-hub-of-hubs
demo-hub-of-hubs: sandbox-programs image-root hub-of-hubs-programs ## Show a status travel from managed clusters by PostgreSQL to a global hub (ONCE=1)
	@go build -C hub-of-hubs-status-sync/test -trimpath -o $(CURDIR)/bin/demo-hub-of-hubs ./cmd/demo-hub-of-hubs
	@bin/demo-hub-of-hubs --image='$(IMAGE)' $(if $(ONCE),--once)

# sizes: BENCH_STATUS_FLAGS="--hubs=10 --clusters=300 --policies=45"; --help lists them
BENCH_STATUS_FLAGS ?=

.PHONY: bench-status
bench-status: sandbox-programs hub-of-hubs-programs ## Measure it at 10 million rows: half an hour (BENCH_STATUS_FLAGS: other sizes)
	@go build -C hub-of-hubs-status-sync/test -trimpath -o $(CURDIR)/bin/bench-status ./cmd/bench-status
	@bin/bench-status $(BENCH_STATUS_FLAGS)

##@ kind: OCM on clusters that run as Docker containers

KIND_DIR ?= .kind
KIND_PREFIX ?=
KIND_NODE_IMAGE ?=
OCM_IMAGES ?= auto
KIND := bin/ocm-kind --dir=$(KIND_DIR) --prefix=$(KIND_PREFIX)

.PHONY: kind-up
kind-up: bin/ocm-kind ## Create kind clusters, hub and CLUSTERS managed ones (KIND_NODE_IMAGE, KIND_PREFIX)
	@$(KIND) up --clusters=$(CLUSTERS) --node-image=$(KIND_NODE_IMAGE)

.PHONY: deploy-ocm
deploy-ocm: bin/ocm-kind ## Install OCM on them and join them (OCM_IMAGES=published, built, or auto)
	@$(KIND) deploy-ocm --images=$(OCM_IMAGES)

.PHONY: kind-load
kind-load: bin/ocm-kind images ## Build IMAGE and AGENT_IMAGE and give them to the kind clusters' nodes
	@$(KIND) load $(IMAGE) $(AGENT_IMAGE)

.PHONY: kind-down
kind-down: bin/ocm-kind ## Delete the kind clusters and their kubeconfigs
	@$(KIND) down

##@ Tests

.PHONY: test
test: test-unit test-sandbox test-fleet ## All tests that need neither Docker nor a database: about 30 minutes once the programs are built
	@$(MAKE) -j2 test-e2e test-situations # side by side: both mostly wait

.PHONY: test-unit
test-unit: ## Test what needs no cluster
	go test -trimpath $(TEST_FLAGS) ./...
	go test -C hub-of-hubs-status-sync -trimpath $(TEST_FLAGS) ./...
	go test -C sandbox/programs -trimpath $(TEST_FLAGS) ./...
	go test -C test/bench -trimpath $(TEST_FLAGS) ./...
	go test -C test/fleet -trimpath $(TEST_FLAGS) ./...
	go test -C test/judge -trimpath $(TEST_FLAGS) ./...
	@# it reads a page outside its module, which go test's cache does not know of
	go test -C test/peers -trimpath -count=1 $(TEST_FLAGS) ./...
	go test -C tools -trimpath $(TEST_FLAGS) .
	go test -C tools/release -trimpath $(TEST_FLAGS) ./...

# the detector's builds share nothing with the others
.PHONY: test-race
test-race: export CGO_ENABLED := 1
test-race: ## Run the products' unit tests under the race detector (needs a C compiler; Debian: apt-get install gcc libc6-dev)
	go test -trimpath -race -timeout 15m $(TEST_FLAGS) ./pkg/... ./internal/... ./manifests/...
	go test -C hub-of-hubs-status-sync -trimpath -race -timeout 15m $(TEST_FLAGS) ./...

.PHONY: test-sandbox
test-sandbox: sandbox-programs ## Test the sandbox itself, with real control planes
	go test -C sandbox -trimpath -tags sandbox -timeout 20m $(TEST_FLAGS) ./...

.PHONY: test-fleet
test-fleet: sandbox-programs build ## Test the add-on on a fleet of 5 simulated clusters: about two minutes
	@test/fleet/run build
	go test -C test/fleet -trimpath -tags sandbox -count=1 -timeout 12m $(TEST_FLAGS) ./smoke

.PHONY: test-e2e
test-e2e: sandbox-programs image-root shell-image ## Run the end-to-end scenarios on sandboxes
	@test/e2e/on-sandbox $(IMAGE) $(IMAGE_ROOT) $(TEST_FLAGS)

.PHONY: test-situations
test-situations: sandbox-programs image-root ## Run a selection of the registration agent's situations (LONG_TESTS=1: all) on sandboxes
	@test/situations/on-sandbox $(IMAGE) $(IMAGE_ROOT) $(TEST_FLAGS)

.PHONY: test-doctor
test-doctor: sandbox-programs image-root build ## Bring about what goes wrong in operation, and ask the kubectl plugin each time
	@test/doctor/on-sandbox $(IMAGE) $(IMAGE_ROOT) $(TEST_FLAGS)

.PHONY: test-postgres
test-postgres: sandbox-programs $(BUILT_KUBECTL) ## Test the hub of hubs with real PostgreSQL (one of its own or TEST_DATABASE_URL) and kube-apiserver
	go test -C hub-of-hubs-status-sync -trimpath -tags postgres -timeout 12m $(TEST_FLAGS) ./pkg/postgres/...
	@# it reads pages and manifests outside its module, which go test's cache does not know of
	go test -C hub-of-hubs-status-sync/test -trimpath -count=1 -tags postgres -timeout 12m $(TEST_FLAGS) ./...

.PHONY: test-kind
test-kind: ## Test the kind tool, and that Helm chart and kustomize base install the same
	go test -C test/kind -trimpath $(TEST_FLAGS) ./...

.PHONY: test-monitoring
test-monitoring: sandbox-programs image-root bin/promtool ## Test alerts and dashboards, with Prometheus on a sandbox of its own: about 2 minutes once it is built
	go test -C test/monitoring -trimpath $(TEST_FLAGS) ./dashboard
	@test/monitoring/on-sandbox $(IMAGE) $(IMAGE_ROOT) $(TEST_FLAGS)

.PHONY: test-ui
test-ui: sandbox-programs build ## Test the page of kubectl helloworld ui in Chromium, with 5,000 clusters too (needs chromium and npm): about 3 minutes
	@test/ui/run $(TEST_FLAGS)

.PHONY: test-peers
test-peers: sandbox-programs ## Run other people's add-ons and their own suites on the sandbox (PEERS=managed-serviceaccount,...: these alone)
	@PEERS='$(PEERS)' test/peers/run $(TEST_FLAGS)

.PHONY: test-versions
test-versions: sandbox-programs image-root shell-image ## Run scenarios and peers on other versions of OCM and Kubernetes (OCM_VERSIONS= KUBERNETES_VERSIONS= SCENARIOS= PEERS=): hours
	@OCM_VERSIONS='$(OCM_VERSIONS)' KUBERNETES_VERSIONS='$(KUBERNETES_VERSIONS)' SCENARIOS='$(SCENARIOS)' PEERS='$(PEERS)' \
		test/versions/run $(IMAGE) $(IMAGE_ROOT)

.PHONY: test-long
test-long: export LONG_TESTS := 1
test-long: test test-doctor test-peers ## make test with its long cases, doctor's faults, other add-ons' suites, and fuzzing (FUZZTIME=30s each)
	@test/long

ON_KIND = KUBECTL=$(KUBECTL) OCM_IMAGES=$(OCM_IMAGES) KIND_NODE_IMAGE=$(KIND_NODE_IMAGE) KEEP=$(KEEP)

.PHONY: e2e
e2e: bin/ocm-kind images shell-image $(BUILT_KUBECTL) ## Run the end-to-end scenarios on kind clusters of their own (KEEP=1 keeps them, LONG_TESTS=1: situations too)
	@$(ON_KIND) AGENT_IMAGE=$(AGENT_IMAGE) test/e2e/on-kind $(IMAGE) $(TEST_FLAGS)

.PHONY: e2e-smoke
e2e-smoke: bin/ocm-kind images $(BUILT_KUBECTL) ## Run on kind what only real nodes show, and one scenario of each kind: about 11 minutes
	@$(ON_KIND) AGENT_IMAGE=$(AGENT_IMAGE) test/e2e/on-kind --smoke $(IMAGE) $(TEST_FLAGS)

.PHONY: e2e-situations
e2e-situations: bin/ocm-kind images $(BUILT_KUBECTL) ## Run the registration agent's situations in hosted mode and with two hubs (MODES=) on kind clusters of their own
	@$(ON_KIND) AGENT_IMAGE=$(AGENT_IMAGE) MODES='$(MODES)' test/situations/on-kind $(IMAGE) $(TEST_FLAGS)

.PHONY: e2e-peers
e2e-peers: bin/ocm-kind $(BUILT_KUBECTL) ## Run other people's add-ons and their own suites on kind (KIND_PEERS=TestAddonFramework,...: these alone)
	@$(ON_KIND) KIND_PEERS='$(KIND_PEERS)' test/peers/on-kind $(TEST_FLAGS)

.PHONY: functional-test-full
functional-test-full: bin/ocm-kind images shell-image $(BUILT_KUBECTL) ## Run the lease sidecar's scenarios on kind clusters of their own, two managed ones
	@$(ON_KIND) test/e2e/lease/on-kind $(AGENT_IMAGE) $(TEST_FLAGS)

.PHONY: e2e-hub-of-hubs
e2e-hub-of-hubs: bin/ocm-kind images hub-of-hubs-images $(BUILT_KUBECTL) ## Run the hub of hubs' programs on kind clusters of their own, with PostgreSQL on this machine (KEEP=1)
	@$(ON_KIND) hub-of-hubs-status-sync/test/pods/on-kind $(IMAGE) $(HUB_OF_HUBS_REGISTRY)/hub-of-hubs-status-sync:$(HUB_OF_HUBS_TAG) $(TEST_FLAGS)

.PHONY: shell-image
shell-image: ## Lay out the tests' stand-in for an image with a shell
	@go build -C test/shell -trimpath -ldflags '-s -w' -o $(CURDIR)/bin/shell-image/bin/sh ./cmd/sh

##@ Development

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  %-20s %s\n", $$1, $$2}' Makefile
	@printf '\nVariables: IMAGE, AGENT_IMAGE (IMAGE with -agent), CLUSTERS (%s), SANDBOX_DIR (%s),\nKUBECONFIG (deploy-example, run), ARGS (run), ONCE (demo), KIND_DIR, KIND_PREFIX, KIND_NODE_IMAGE, OCM_IMAGES (kind), VERSION (release)\n' '$(CLUSTERS)' '$(SANDBOX_DIR)'

.PHONY: fmt
fmt: bin/golangci-lint ## Format all Go code
	@for m in $(MODULES); do (cd $$m && $(LINT) fmt --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: lint
lint: bin/golangci-lint ## Check style and the rules of which package may import which
	@for m in $(MODULES); do echo "lint $$m"; (cd $$m && $(LINT) run --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: check
check: ## Check that the versions agree, and that dependency updates cover every module
	@tools/check-updates
	@$(RELEASE_TOOL) check

.PHONY: check-platforms
check-platforms: ## Check that the kubectl plugin compiles for the other operating systems of its users
	@for os in windows darwin; do echo "$$os"; GOOS=$$os go build -trimpath -o /dev/null ./cmd/kubectl-helloworld; done

.PHONY: generate
generate: bin/controller-gen ## Write the API's code and CRDs, the chart's RBAC and CRDs, the operator's template, and the sandbox's pins
	@GOFLAGS=-trimpath bin/controller-gen object crd output:crd:dir=deploy/base/crds paths=./api/...
	@go run -trimpath ./internal/generate/cmd/generate
	@go generate -C sandbox ./build

.PHONY: check-generated
check-generated: ## Check that make generate changes nothing
	@tools/check-generated

SINCE ?= $(shell cat .ci/since 2>/dev/null)

.PHONY: check-commits
check-commits: ## Check the subject and the sign-off of every commit after SINCE
	@tools/check-commits '$(SINCE)'

.PHONY: clean
clean: sandbox-down ## End the sandbox and remove everything that was built
	rm -rf bin artifacts dist hub-of-hubs-status-sync/bin

##@ Release

# the user's, or that of the file VERSION
RELEASE_VERSION = $(if $(filter-out file,$(origin VERSION)),$(VERSION),$(RELEASED))
RELEASE_TOOL = go run -C tools/release -trimpath ./cmd/release --source='$(CURDIR)'

.PHONY: release-prepare
release-prepare: ## Write VERSION (such as v0.2.0) to all places that name it, and date the changelog
	@SOURCE_DATE_EPOCH=$$(date +%s) $(RELEASE_TOOL) --version='$(RELEASE_VERSION)' set

.PHONY: release
release: ## Build the release VERSION of the commit that is checked out into dist/ (docs/release.md)
	@$(RELEASE_TOOL) --version='$(RELEASE_VERSION)' build

# What the targets above build for themselves.

.PHONY: bin/ocm-sandbox
bin/ocm-sandbox:
	@test -e $@ || echo "building bin/ocm-sandbox: about a minute the first time"
	@go build -C sandbox -trimpath -o $(CURDIR)/$@ ./cmd/ocm-sandbox

.PHONY: bin/ocm-demo
bin/ocm-demo:
	@$(GO_BUILD) -o $@ ./test/demo/cmd/ocm-demo

.PHONY: bin/ocm-kind
bin/ocm-kind:
	@test -e $@ || echo "building bin/ocm-kind, with kind and Helm as libraries: about 2 minutes the first time"
	@go build -C test/kind -trimpath -o $(CURDIR)/$@ ./cmd/ocm-kind

bin/golangci-lint: tools/go.mod tools/go.sum
	@echo "building the linter, once: about a minute"
	@cd tools && $(GO_BUILD) -ldflags '-s -w' -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# prometheus as well
bin/promtool: test/monitoring/go.mod test/monitoring/build
	@echo "building Prometheus and promtool, once: about 2 minutes"
	@test/monitoring/build $(CURDIR)/bin

bin/controller-gen: tools/controller-gen/go.mod tools/controller-gen/go.sum
	@echo "building controller-gen, once: about half a minute"
	@cd tools/controller-gen && $(GO_BUILD) -ldflags '-s -w' -o $(CURDIR)/$@ sigs.k8s.io/controller-tools/cmd/controller-gen

$(CURDIR)/bin/sandbox/kubectl: bin/ocm-sandbox
	@$(SANDBOX) build kubectl
