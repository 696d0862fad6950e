# One image holds all programs; a pod's command says which one runs.
#
#   docker build --build-arg VERSION=v0.1.0 --build-arg COMMIT=$(git rev-parse HEAD) \
#     -t quay.io/open-cluster-management/helloworld-addon:latest .
#
# Programs that are built already need no builder: `--target prebuilt` takes them
# from bin/ in the build context.
ARG GO_VERSION=1.26

FROM golang:${GO_VERSION} AS builder
ARG VERSION=v0.0.0-dev
ARG COMMIT=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY manifests/ manifests/
COPY pkg/ pkg/
COPY cmd/ cmd/
ENV CGO_ENABLED=0
RUN mkdir -p /out && go build -trimpath \
    -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=${VERSION} -X k8s.io/component-base/version.gitCommit=${COMMIT}" \
    -o /out/ ./cmd/...

# What both images have in common: nothing but the programs' environment.
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

FROM base AS prebuilt
COPY bin/helloworld-controller bin/helloworld-agent /usr/local/bin/

FROM base AS image
COPY --from=builder /out/ /usr/local/bin/
