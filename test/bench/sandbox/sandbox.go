// Package sandbox drives a sandbox of the benchmark's own: it starts one in a
// directory of its own, hands out clients, and ends it.
//
// How a sandbox works is the business of the program that it calls.
package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// Cluster is the one managed cluster, and its namespace on the hub.
	Cluster = "cluster1"
	// downTimeout bounds the end of a sandbox.
	downTimeout = time.Minute
)

// Options configure a sandbox.
type Options struct {
	// Command is ocm-sandbox with the flags that it always gets.
	Command []string
	// Kubectl is the program.
	Kubectl string
	// Images are mappings IMAGE=DIRECTORY.
	Images []string
	// Out gets the output of what is called.
	Out io.Writer
}

// Sandbox is a running hub with one managed cluster.
type Sandbox struct {
	Options
	// Dir is the sandbox's directory.
	Dir string
	// Hub and Managed are administrators' clients without a limit of their own.
	Hub, Managed kubernetes.Interface

	parent string
}

// Up starts a sandbox. What it cannot start it removes.
func Up(ctx context.Context, options Options) (*Sandbox, error) {
	parent, err := os.MkdirTemp("", "ocm-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the sandbox: %w", err)
	}
	s := &Sandbox{Options: options, Dir: filepath.Join(parent, "sandbox"), parent: parent}
	args := []string{"up", "--clusters=1", "--status-sync-interval=5s"}
	for _, image := range options.Images {
		args = append(args, "--image="+image)
	}
	if err := s.Run(ctx, nil, s.command(args...)...); err != nil {
		return nil, errors.Join(fmt.Errorf("start a sandbox: %w", err), s.Down(ctx))
	}
	if s.Hub, err = client(s.Kubeconfig("hub")); err == nil {
		s.Managed, err = client(s.Kubeconfig(Cluster))
	}
	if err != nil {
		return nil, errors.Join(err, s.Down(ctx))
	}
	return s, nil
}

// Down ends the sandbox, also when ctx has ended, and removes its files.
func (s *Sandbox) Down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	if err := s.Run(ctx, nil, s.command("down")...); err != nil {
		return fmt.Errorf("end the sandbox in %s: %w", s.Dir, err)
	}
	if err := os.RemoveAll(s.parent); err != nil {
		return fmt.Errorf("remove the sandbox's directory: %w", err)
	}
	return nil
}

// Switch stops or starts a program of the sandbox, such as cluster1/work-agent.
func (s *Sandbox) Switch(ctx context.Context, verb, program string) error {
	return s.Run(ctx, nil, s.command(verb, program)...)
}

// Apply applies YAML documents to a cluster with kubectl.
func (s *Sandbox) Apply(ctx context.Context, cluster string, documents []byte) error {
	return s.Run(ctx, bytes.NewReader(documents), s.Kubectl, "--kubeconfig="+s.Kubeconfig(cluster), "apply", "-f", "-")
}

// Kubeconfig is the administrator's file for a cluster.
func (s *Sandbox) Kubeconfig(cluster string) string {
	return filepath.Join(s.Dir, cluster+".kubeconfig")
}

// HubInside is the kubeconfig of the hub as pods of the managed cluster reach
// it, with a token; it is made from the one that the cluster joined with.
func (s *Sandbox) HubInside(token string) ([]byte, error) {
	file := filepath.Join(s.Dir, Cluster, "bootstrap-hub-kubeconfig", "kubeconfig")
	joined, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("read how the managed cluster reaches the hub: %w", err)
	}
	present := joined.Contexts[joined.CurrentContext]
	if present == nil {
		return nil, fmt.Errorf("%s has no current context", file)
	}
	present.AuthInfo = "bench"
	joined.AuthInfos = map[string]*clientcmdapi.AuthInfo{"bench": {Token: token}}
	if err := clientcmdapi.FlattenConfig(joined); err != nil {
		return nil, fmt.Errorf("put the hub's authority into a kubeconfig: %w", err)
	}
	return clientcmd.Write(*joined)
}

func (s *Sandbox) command(args ...string) []string {
	command := append([]string{}, s.Command...)
	return append(append(command, "--dir="+s.Dir), args...)
}

// Run runs a command with KUBECONFIG naming the hub. Out gets what it prints;
// the error has what it said of itself.
func (s *Sandbox) Run(ctx context.Context, input io.Reader, args ...string) error {
	return s.run(ctx, input, s.Out, args...)
}

// Output runs a command as Run does and returns what it prints.
func (s *Sandbox) Output(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := s.run(ctx, nil, &out, args...)
	return out.Bytes(), err
}

func (s *Sandbox) run(ctx context.Context, input io.Reader, out io.Writer, args ...string) error {
	// #nosec G204 -- the commands are the caller's choice
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var tail bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, out, io.MultiWriter(s.Out, &tail)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig("hub"))
	// a terminal's Ctrl-C reaches this program alone, which decides how they end
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args[:min(3, len(args))], " "), err, strings.TrimSpace(tail.String()))
	}
	return nil
}

func client(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	made, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", kubeconfig, err)
	}
	return made, nil
}
