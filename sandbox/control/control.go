package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"

	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
	"open-cluster-management.io/helloworld-addon/sandbox/ocm"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
	"open-cluster-management.io/helloworld-addon/sandbox/statedir"
)

// Sandbox is a running sandbox.
type Sandbox struct {
	dir    string
	record statedir.Record
}

// Open returns the running sandbox of a directory.
func Open(dir string) (*Sandbox, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("--dir=%s: %w", dir, err)
	}
	record, err := statedir.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no sandbox in %s: start one with ocm-sandbox up", dir)
	}
	return &Sandbox{dir: dir, record: record}, err
}

func (s *Sandbox) hubs() []string { return s.record.Clusters[:s.record.Hubs] }

func (s *Sandbox) managed() []string { return s.record.Clusters[s.record.Hubs:] }

// hub returns the index of a hub.
func (s *Sandbox) hub(name string) (int, error) {
	if i := slices.Index(s.hubs(), name); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("no hub %q in this sandbox: there are %s", name, strings.Join(s.hubs(), ", "))
}

// cluster returns the index of a managed cluster.
func (s *Sandbox) cluster(name string) (int, error) {
	if i := slices.Index(s.managed(), name); i >= 0 {
		return s.record.Hubs + i, nil
	}
	known := slices.Clone(s.managed())
	if s.record.Fleet != nil {
		known = append(known, fleet.Name(1)+" and the other clusters of the fleet")
	}
	return 0, fmt.Errorf("no managed cluster %q in this sandbox: there are %s", name, strings.Join(known, ", "))
}

// CutFile returns the path of the file whose existence cuts the cluster in this directory
// off from one of the URLs of a hub.
func CutFile(clusterDir, hub string, moved bool) string {
	if moved {
		hub += "-moved"
	}
	return filepath.Join(clusterDir, "cut-off-from", hub)
}

// SetLink cuts the programs and pods of a managed cluster off from a hub, or connects them
// again, and returns when that has happened. A cut behaves like a network that loses every
// packet: connections stay open and nothing passes. With oldURL, the link to the hub's other
// URL stays as it is. A fleet's cluster has one URL of the first hub alone.
func (s *Sandbox) SetLink(ctx context.Context, cluster, hub string, oldURL, up bool) error {
	if _, ok := fleet.Number(cluster); ok && s.record.Fleet != nil {
		if oldURL || hub != s.hubs()[0] {
			return fmt.Errorf("%s is a cluster of the fleet, which knows one URL of %s alone", cluster, s.hubs()[0])
		}
		return s.setFleetLinks(ctx, []string{cluster}, up)
	}
	_, clusterErr := s.cluster(cluster)
	_, hubErr := s.hub(hub)
	if err := errors.Join(clusterErr, hubErr); err != nil {
		return err
	}
	for _, moved := range []bool{false, true} {
		if moved && oldURL {
			continue
		}
		file := CutFile(filepath.Join(s.dir, cluster), hub, moved)
		err := setCut(file, !up)
		if err == nil {
			err = awaitCut(ctx, file, !up)
		}
		if err != nil {
			return fmt.Errorf("change the link of %s to %s: %w", cluster, hub, err)
		}
	}
	return nil
}

// Cut is what a managed cluster is cut off from: the first or the other URL of a hub, or both.
type Cut struct {
	Hub                string
	FirstURL, OtherURL bool
}

// Cuts returns the hubs that a cluster is cut off from.
func (s *Sandbox) Cuts(cluster string) ([]Cut, error) {
	var cuts []Cut
	for _, hub := range s.hubs() {
		cut := Cut{Hub: hub}
		for moved, found := range map[bool]*bool{false: &cut.FirstURL, true: &cut.OtherURL} {
			_, err := os.Stat(CutFile(filepath.Join(s.dir, cluster), hub, moved))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("read the links of %s: %w", cluster, err)
			}
			*found = err == nil
		}
		if cut.FirstURL || cut.OtherURL {
			cuts = append(cuts, cut)
		}
	}
	return cuts, nil
}

// Stopped returns the stopped programs of the directory of a cluster, or of FleetDir, sorted.
func Stopped(dir string) ([]string, error) {
	programs, err := process.Switches(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // before the first program has started there is no directory
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var stopped []string
	for _, program := range programs {
		if process.SwitchOf(dir, program).Stopped() {
			stopped = append(stopped, program)
		}
	}
	return stopped, nil
}

// CutDone returns the path of the file by which the supervisor acknowledges a CutFile: it
// exists while nothing passes.
func CutDone(cutFile string) string { return cutFile + ".done" }

// cutTimeout limits the wait for the supervisor, which reads the files ten times a second.
const cutTimeout = 30 * time.Second

func awaitCut(ctx context.Context, file string, cut bool) error {
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, cutTimeout, true, func(context.Context) (bool, error) {
		_, err := os.Stat(CutDone(file))
		return (err == nil) == cut, nil
	})
	if err != nil {
		return fmt.Errorf("wait %s for the sandbox's supervisor: %w", cutTimeout, err)
	}
	return nil
}

func setCut(file string, cut bool) error {
	if !cut {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, nil, 0o600)
}

// Rename restarts the agents of a managed cluster with another name, under which they join
// the hub.
func (s *Sandbox) Rename(ctx context.Context, cluster, name string) error {
	if _, err := s.cluster(cluster); err != nil {
		return err
	}
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("%q cannot be a cluster's name: %s", name, strings.Join(problems, ", "))
	}
	return s.restartWith(ctx, cluster, ocm.NameFile, name, "work-agent", "registration-agent")
}

// SetAddonAuth sets the driver by which a managed cluster's add-ons get their credentials
// for the hub. It restarts the registration agent.
func (s *Sandbox) SetAddonAuth(ctx context.Context, cluster, auth string) error {
	_, clusterErr := s.cluster(cluster)
	_, authErr := ocm.ParseAuth(auth)
	if err := errors.Join(clusterErr, authErr); err != nil {
		return err
	}
	return s.restartWith(ctx, cluster, ocm.AuthFile, auth, "registration-agent")
}

// SetRegistrationFlags replaces the further flags of a managed cluster's registration agent, each of
// the form --name or --name=value, and restarts the agent.
func (s *Sandbox) SetRegistrationFlags(ctx context.Context, cluster string, flags ...string) error {
	_, err := s.cluster(cluster)
	errs := []error{err}
	for _, flag := range flags {
		if !strings.HasPrefix(flag, "--") || strings.Contains(flag, "\n") {
			errs = append(errs, fmt.Errorf("%q is not a flag of the form --name=value", flag))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return s.restartWith(ctx, cluster, ocm.RegistrationFlagsFile, strings.Join(flags, "\n"), "registration-agent")
}

// restartWith stops agents of a managed cluster, writes a file that they read when they
// start, and starts them in reverse order.
func (s *Sandbox) restartWith(ctx context.Context, cluster, file, content string, agents ...string) error {
	dir := filepath.Join(s.dir, cluster)
	for _, agent := range agents {
		if err := process.SwitchOf(dir, agent).Off(ctx); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(content+"\n"), 0o600); err != nil {
		return fmt.Errorf("change the agents of %s: %w", cluster, err)
	}
	for _, agent := range slices.Backward(agents) {
		if err := process.SwitchOf(dir, agent).On(ctx); err != nil {
			return err
		}
	}
	return nil
}
