package launcher

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/sandbox/build"
	"open-cluster-management.io/helloworld-addon/sandbox/images"
	"open-cluster-management.io/helloworld-addon/sandbox/ocm"
	"open-cluster-management.io/helloworld-addon/sandbox/supervisor"
)

// maxClusters is the largest number of managed clusters of a sandbox. Their networks and ports
// are numbered; memory is exhausted long before.
const maxClusters = 50

// maxHubs is the largest number of hubs of a sandbox.
const maxHubs = 3

// shortestLife is the smallest Options.CertificateLife. Kubernetes backdates short-lived
// certificates by five minutes. OCM's registration agent renews a certificate when less than a
// quarter of its life, including the backdating, is left. So with less than 100 s it would
// renew without end, and stop after the tenth request.
const shortestLife = 2 * time.Minute

// Options configures a sandbox.
type Options struct {
	// Dir is the sandbox's directory.
	Dir string
	// Programs is the directory of the built programs, Module the Go module that
	// pins them. Each may be empty: see build.Options.
	Programs, Module string
	// Versions are those of OCM and Kubernetes.
	Versions build.Versions
	// Clusters is the number of managed clusters.
	Clusters int
	// Hubs is the number of hubs. With more than one each managed cluster chooses
	// among them (OCM's feature gate MultipleHubs).
	Hubs int
	// Hosted is the number of managed clusters, the last ones, in hosted mode. Their
	// agents belong to cluster1.
	Hosted int
	// HubAs is the name under which the first hub manages itself; if empty, it does
	// not.
	HubAs string
	// CertificateLife is the life of the certificates that hubs sign; 0 means a year.
	CertificateLife time.Duration
	// Audit makes hubs log every request.
	Audit bool
	// Agents are the settings of OCM's agents on every managed cluster.
	Agents ocm.Agents
	// FeatureGates are those of OCM's programs.
	FeatureGates ocm.FeatureGates
	// Fleet are the simulated clusters.
	Fleet supervisor.Fleet
	// HostPaths are the directories that pods may mount by hostPath.
	HostPaths []string
	// Images are mappings IMAGE=DIRECTORY.
	Images []string
	// Out receives progress messages.
	Out io.Writer
}

// Validate returns an error that joins every problem, with flag and value.
func (o *Options) Validate() error {
	var problems []error
	if o.Hubs < 1 || o.Hubs > maxHubs {
		problems = append(problems, fmt.Errorf("--hubs=%d: a sandbox has 1 to %d hubs", o.Hubs, maxHubs))
	}
	if o.CertificateLife != 0 && o.CertificateLife < shortestLife {
		problems = append(problems, fmt.Errorf("--certificate-life=%s: give at least %s, or OCM's registration agent asks for certificates without end",
			o.CertificateLife, shortestLife))
	}
	problems = append(problems, o.validateClusters()...)
	problems = append(problems, o.validateAgents()...)
	problems = append(problems, o.validateHubAs()...)
	problems = append(problems, validateFleet(o.Fleet)...)
	if o.Dir == "" {
		problems = append(problems, errors.New("--dir: name a directory"))
	}
	for flag, value := range map[string]*string{"--dir": &o.Dir, "--programs": &o.Programs, "--module": &o.Module} {
		if *value == "" {
			continue
		}
		absolute, err := filepath.Abs(*value)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s=%s: %w", flag, *value, err))
			continue
		}
		*value = absolute
	}
	problems = append(problems, o.validateHostPaths()...)
	for _, mapping := range o.Images {
		if _, _, err := images.Parse(mapping); err != nil {
			problems = append(problems, fmt.Errorf("--image: %w", err))
		}
	}
	return errors.Join(problems...)
}

func (o *Options) validateHostPaths() []error {
	var problems []error
	for i, dir := range o.HostPaths {
		absolute, err := filepath.Abs(dir)
		info, statErr := os.Stat(absolute)
		switch err = errors.Join(err, statErr); {
		case err != nil:
			problems = append(problems, fmt.Errorf("--allow-host-path=%s: %w", dir, err))
		case dir == "" || !info.IsDir():
			problems = append(problems, fmt.Errorf("--allow-host-path=%s: name a directory", dir))
		}
		o.HostPaths[i] = absolute
	}
	return problems
}

func (o *Options) validateClusters() []error {
	var problems []error
	least := 1
	if o.Fleet.Clusters > 0 || o.HubAs != "" {
		least = 0
	}
	if o.Clusters < least || o.Clusters > maxClusters {
		problems = append(problems, fmt.Errorf("--clusters=%d: a sandbox has %d to %d managed clusters (for example --clusters=2; 0 only with --hub-as or --fleet)",
			o.Clusters, least, maxClusters))
	}
	if o.Hosted < 0 || (o.Hosted > 0 && o.Hosted >= o.Clusters) {
		problems = append(problems, fmt.Errorf("--hosted=%d: with --clusters=%d at most %d can be hosted, since cluster1 is their hosting cluster",
			o.Hosted, o.Clusters, max(o.Clusters-1, 0)))
	}
	return problems
}

func (o *Options) validateAgents() []error {
	var problems []error
	if _, err := ocm.ParseAuth(o.Agents.AddonAuth); err != nil {
		problems = append(problems, fmt.Errorf("--addon-auth=%s: %w", o.Agents.AddonAuth, err))
	}
	if life := o.Agents.AddonTokenLife; life != 0 && life < ocm.ShortestTokenLife {
		problems = append(problems, fmt.Errorf("--addon-token-life=%s: give at least %s, the shortest that an API server allows",
			life, ocm.ShortestTokenLife))
	}
	// a Klusterlet can have no fraction of a second
	if interval := o.Agents.StatusSyncInterval; interval < time.Second || interval%time.Second != 0 {
		problems = append(problems, fmt.Errorf("--status-sync-interval=%s: give whole seconds, at least 1s", interval))
	}
	return problems
}

func (o *Options) validateHubAs() []error {
	if o.HubAs == "" {
		return nil
	}
	var problems []error
	if slices.Contains(o.names(), o.HubAs) {
		problems = append(problems, fmt.Errorf("--hub-as=%s: a cluster of the sandbox has this name already", o.HubAs))
	}
	if invalid := validation.IsDNS1123Label(o.HubAs); len(invalid) > 0 {
		problems = append(problems, fmt.Errorf("--hub-as=%s: cannot be a cluster's name: %s", o.HubAs, strings.Join(invalid, ", ")))
	}
	return problems
}

// names returns the clusters' names, those of hubs first.
func (o *Options) names() []string {
	names := []string{"hub"}
	for i := 1; i < o.Hubs; i++ {
		names = append(names, fmt.Sprintf("hub%d", i+1))
	}
	for i := range o.Clusters {
		names = append(names, fmt.Sprintf("cluster%d", i+1))
	}
	return names
}
