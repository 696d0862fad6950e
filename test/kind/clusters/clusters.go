package clusters

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/exec"
)

const (
	// readyTimeout is a guard; a cluster takes about 15 s on two cores, once
	// the node's image is there.
	readyTimeout = 5 * time.Minute
	// atOnce is how many clusters are created together: more only compete.
	atOnce = 2
	// dockerTimeout is for Docker to answer at all.
	dockerTimeout = 20 * time.Second
)

// Set is a hub and its managed clusters.
type Set struct {
	Options
	provider *cluster.Provider
	log      *recorder
}

// Open checks the options and that Docker answers.
func Open(ctx context.Context, options Options) (*Set, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dockerTimeout)
	defer cancel()
	answer, err := osexec.CommandContext(ctx, "docker", "info", "--format", "{{.ServerVersion}}").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("the Docker engine does not answer: %w: %s\nkind runs clusters as Docker containers: "+
			"install Docker and start it, and see that `docker info` works for this user", err, strings.TrimSpace(string(answer)))
	}
	log := &recorder{warn: func(format string, args ...any) { options.Progress.Say("kind: "+format, args...) }}
	return &Set{
		Options:  options,
		log:      log,
		provider: cluster.NewProvider(cluster.ProviderWithDocker(), cluster.ProviderWithLogger(log)),
	}, nil
}

// Up creates the clusters that are missing and writes all kubeconfigs. It
// returns when every cluster answers. What was made here before is kept.
func (s *Set) Up(ctx context.Context, up UpOptions) error {
	if err := up.Validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("create the directory for the kubeconfigs: %w", err)
	}
	existing, err := s.existing()
	if err != nil {
		return err
	}
	todo, err := planUp(wantedNames(up.Clusters), existing, s.kindName)
	if err != nil {
		return err
	}
	for _, name := range todo.keep {
		if err := s.answers(ctx, name); err != nil {
			return fmt.Errorf("%w\nits node may have stopped: docker start %s-control-plane, or make kind-down",
				err, s.kindName(name))
		}
		s.Progress.Say("%s is there already", name)
	}
	if err := s.create(ctx, todo.create, up); err != nil {
		return err
	}
	return s.writeMerged()
}

// create makes the first cluster alone, because it brings the node's image and
// Docker's network, and then the others.
func (s *Set) create(ctx context.Context, names []string, up UpOptions) error {
	if len(names) == 0 {
		return nil
	}
	if err := s.createOne(ctx, names[0], up); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, name := range names[1:] {
		group.Go(func() error { return s.createOne(ctx, name, up) })
	}
	return group.Wait()
}

// createOne makes one cluster. kind removes what it began when it fails. It
// cannot be interrupted; so an interrupt takes effect after it.
func (s *Set) createOne(ctx context.Context, name string, up UpOptions) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	log := &recorder{warn: s.log.Warnf}
	provider := cluster.NewProvider(cluster.ProviderWithDocker(), cluster.ProviderWithLogger(log))
	return s.Progress.Step(ctx, name+" is created", log.at, func(ctx context.Context) error {
		options := []cluster.CreateOption{
			cluster.CreateWithKubeconfigPath(s.Kubeconfig(name)),
			cluster.CreateWithWaitForReady(readyTimeout),
			cluster.CreateWithDisplayUsage(false),
			cluster.CreateWithDisplaySalutation(false),
			cluster.CreateWithV1Alpha4Config(configOf(up)),
		}
		if up.NodeImage != "" {
			options = append(options, cluster.CreateWithNodeImage(up.NodeImage))
		}
		if err := provider.Create(s.kindName(name), options...); err != nil {
			return fmt.Errorf("create the kind cluster %s: %w", s.kindName(name), withOutput(err))
		}
		if err := s.writeKubeconfigs(name); err != nil {
			return err
		}
		return s.answers(ctx, name)
	})
}

// configOf returns kind's configuration of a cluster.
func configOf(up UpOptions) *v1alpha4.Cluster {
	config := &v1alpha4.Cluster{}
	if up.RestartBackOff > 0 {
		// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#configurable-container-restart-delay
		config.KubeadmConfigPatches = []string{fmt.Sprintf(`kind: KubeletConfiguration
crashLoopBackOff: {maxContainerRestartPeriod: %s}
featureGates: {KubeletCrashLoopBackOffMax: true}
`, up.RestartBackOff)}
	}
	return config
}

// withOutput adds what the command printed whose failure err is: kind's errors
// name the command and its exit status alone.
func withOutput(err error) error {
	failed := exec.RunErrorForError(err)
	if failed == nil || len(bytes.TrimSpace(failed.Output)) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, bytes.TrimSpace(failed.Output))
}

// Down removes the clusters that were made here, and their kubeconfigs.
func (s *Set) Down() error {
	existing, err := s.existing()
	if err != nil {
		return err
	}
	var errs []error
	for name, ours := range existing {
		if !ours {
			s.Progress.Say("%s stays: it was not made with a kubeconfig in %s", s.kindName(name), s.Dir)
			continue
		}
		if err := s.provider.Delete(s.kindName(name), s.Kubeconfig(name)); err != nil {
			errs = append(errs, fmt.Errorf("delete the kind cluster %s: %w", s.kindName(name), err))
			continue
		}
		s.Progress.Say("%s is deleted", name)
		errs = append(errs, remove(s.Kubeconfig(name)), remove(s.Internal(name)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := remove(s.merged()); err != nil {
		return err
	}
	// other files in it are not of this program
	_ = os.Remove(s.Dir)
	return nil
}

// Names are the clusters that were made here, the hub first.
func (s *Set) Names() ([]string, error) {
	existing, err := s.existing()
	if err != nil {
		return nil, err
	}
	todo, err := planUp(nil, existing, s.kindName)
	return todo.keep, err
}

// existing are kind's clusters with names of this set, and whether they are ours.
func (s *Set) existing() (map[string]bool, error) {
	all, err := s.provider.List()
	if err != nil {
		return nil, fmt.Errorf("list kind clusters: %w", err)
	}
	existing := map[string]bool{}
	for _, kindName := range all {
		name, ok := strings.CutPrefix(kindName, s.Prefix)
		if ok && (name == Hub || managedName.MatchString(name)) {
			existing[name] = s.ours(name)
		}
	}
	return existing, nil
}

func remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", file, err)
	}
	return nil
}
