# Two images. One holds all programs but the kubectl plugin; a pod's command selects the one that runs.
# The clusters' image, of the targets agent-…, holds what managed clusters run:
# the agent and the lease sidecar.
#
# From programs that are built already, with nothing but Docker (`make images`
# does this; the build context is the image's root):
#
#   make image-root && docker build -f Dockerfile --target prebuilt -t IMAGE bin/image
#   docker build -f Dockerfile --target agent-prebuilt -t AGENT_IMAGE bin/agent-image
#
# From source, with Docker alone (BuildKit, the default since Docker 23):
#
#   docker build --build-arg VERSION=v0.1.0 --build-arg COMMIT=$(git rev-parse HEAD) -t IMAGE .
#   docker build --target agent-image --build-arg … -t AGENT_IMAGE .
#
# The stages are in this order because Docker's classic builder builds every
# stage before the target: `prebuilt` must not wait for the builder's image. `image`
# is the last one, because that is the target when none is named.
ARG GO_VERSION=1.26

# What all images have in common: nothing but the programs' environment.
FROM scratch AS base
ARG VERSION=v0.0.0-dev
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="helloworld-addon" \
      org.opencontainers.image.description="An add-on for Open Cluster Management that copies ConfigMaps from the hub to managed clusters" \
      org.opencontainers.image.source="https://github.com/open-cluster-management-io/helloworld-addon" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
ENV PATH=/usr/local/bin
USER 65532:65532

FROM base AS agent-base
LABEL org.opencontainers.image.title="helloworld-addon-agent" \
      org.opencontainers.image.description="What managed clusters run of helloworld-addon: the agent and the lease sidecar"

FROM base AS prebuilt
COPY usr/local/bin/ /usr/local/bin/

FROM agent-base AS agent-prebuilt
COPY usr/local/bin/ /usr/local/bin/

# The build context has a root for each architecture (`make images-multiarch`).
FROM base AS multiarch
ARG TARGETARCH
COPY ${TARGETARCH}/usr/local/bin/ /usr/local/bin/

FROM agent-base AS agent-multiarch
ARG TARGETARCH
COPY ${TARGETARCH}/usr/local/bin/helloworld-agent ${TARGETARCH}/usr/local/bin/klusterlet-addon-lease-controller /usr/local/bin/

FROM golang:${GO_VERSION} AS builder
ARG VERSION=v0.0.0-dev
ARG COMMIT=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api/ api/
COPY internal/ internal/
COPY manifests/ manifests/
COPY pkg/ pkg/
COPY cmd/ cmd/
ENV CGO_ENABLED=0
RUN mkdir -p /out && go build -trimpath \
    -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=${VERSION} -X k8s.io/component-base/version.gitCommit=${COMMIT}" \
    -o /out/ ./cmd/helloworld-* ./cmd/klusterlet-addon-lease-controller

FROM agent-base AS agent-image
COPY --from=builder /out/helloworld-agent /out/klusterlet-addon-lease-controller /usr/local/bin/

FROM base AS image
COPY --from=builder /out/helloworld-agent /out/helloworld-controller /out/helloworld-replicaset-controller \
    /out/klusterlet-addon-lease-controller /usr/local/bin/
