package sandboxtest

import (
	"context"
	"errors"
	"fmt"
)

// Option is a setting of a sandbox.
type Option func(*options)

type options struct {
	clusters, hubs int
	hubAs          string
	// flags are further flags of ocm-sandbox up.
	flags  []string
	images []image
}

func newOptions(opts []Option) options {
	o := options{clusters: 1, hubs: 1}
	for _, set := range opts {
		set(&o)
	}
	return o
}

// upFlags returns the flags of ocm-sandbox up, which validates them. Images are mapped later.
func (o *options) upFlags() []string {
	// OCM's default of a minute would make most tests wait for it
	flags := []string{fmt.Sprintf("--clusters=%d", o.clusters), fmt.Sprintf("--hubs=%d", o.hubs), "--status-sync-interval=5s"}
	if o.hubAs != "" {
		flags = append(flags, "--hub-as="+o.hubAs)
	}
	return append(flags, o.flags...)
}

// validate checks the images, so that a test need not wait for a sandbox to learn that a program does not
// compile.
func (o *options) validate(ctx context.Context) error {
	var problems []error
	for _, image := range o.images {
		if image.ref == "" || image.source == nil {
			problems = append(problems, fmt.Errorf("Image(%q, %v): give a reference and a source, for example GoMain(\"./cmd/agent\")", image.ref, image.source))
		} else if err := image.source.check(ctx); err != nil {
			problems = append(problems, fmt.Errorf("image %s: %w", image.ref, err))
		}
	}
	return errors.Join(problems...)
}

// Clusters sets the number of managed clusters, which are named cluster1, cluster2 and so on. The default
// is 1. It can be 0 together with HubAs.
func Clusters(n int) Option { return func(o *options) { o.clusters = n } }

// Hubs sets the number of hubs, which are named hub, hub2 and hub3. The default is 1. With more than one,
// each managed cluster chooses among them (OCM's feature gate MultipleHubs).
func Hubs(n int) Option { return func(o *options) { o.hubs = n } }

// HubAs lets the first hub also manage itself, as a managed cluster with this name, for example
// local-cluster.
func HubAs(name string) Option { return func(o *options) { o.hubAs = name } }

// Hosted puts the last n managed clusters in hosted mode: their agents run on cluster1, which is not
// one of them.
func Hosted(n int) Option { return upFlag("--hosted=%d", n) }

// FeatureGates sets feature gates of OCM's programs, separated by commas, each as PROGRAM:GATE=BOOL, for
// example registration-agent:ClusterProperty=true.
func FeatureGates(gates string) Option { return upFlag("--feature-gates=%s", gates) }

// AddonAuth sets how add-ons get their credentials for the hub: csr (a client certificate, the default)
// or token (of a ServiceAccount).
func AddonAuth(kind string) Option { return upFlag("--addon-auth=%s", kind) }

// OCMVersion runs another version of OCM than the pinned one, for example v1.0.0. Its programs are built
// when a sandbox with it starts for the first time.
func OCMVersion(version string) Option { return upFlag("--ocm-version=%s", version) }

// KubernetesVersion runs another version of Kubernetes than the pinned one, for example v1.33.9. Its
// programs are built when a sandbox with it starts for the first time.
func KubernetesVersion(version string) Option { return upFlag("--kubernetes-version=%s", version) }

// Image lets the pods of the sandbox use an image. A reference without tag and digest means all tags and
// digests of that name. No registry is asked.
func Image(ref string, source ImageSource) Option {
	return func(o *options) { o.images = append(o.images, image{ref, source}) }
}

func upFlag(format string, args ...any) Option {
	return func(o *options) { o.flags = append(o.flags, fmt.Sprintf(format, args...)) }
}
