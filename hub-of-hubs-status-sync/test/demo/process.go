package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hub is one sandbox: a hub and its managed cluster cluster1.
type hub struct {
	name, dir    string
	hub, cluster client.Client
}

func (h *hub) kubeconfig(cluster string) string { return filepath.Join(h.dir, cluster+".kubeconfig") }

func (h *hub) connect() (err error) {
	for name, into := range map[string]*client.Client{"hub": &h.hub, "cluster1": &h.cluster} {
		config, err := clientcmd.BuildConfigFromFlags("", h.kubeconfig(name))
		if err != nil {
			return fmt.Errorf("client of %s of %s: %w", name, h.name, err)
		}
		if *into, err = client.New(config, client.Options{}); err != nil {
			return fmt.Errorf("client of %s of %s: %w", name, h.name, err)
		}
	}
	return nil
}

// as writes a kubeconfig of the hub with a ServiceAccount's rights.
func (h *hub) as(account string) (string, error) {
	config, err := clientcmd.LoadFromFile(h.kubeconfig("hub"))
	if err != nil {
		return "", fmt.Errorf("kubeconfig of %s: %w", h.name, err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:open-cluster-management:" + account
	}
	file := filepath.Join(filepath.Dir(h.dir), h.name+"-"+account+".kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

func (d *demo) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join(d.Top, program), args...)
	command.Dir = d.Top
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = time.Minute
	// A terminal's Ctrl-C is for the demonstration, which ends them in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return command
}

func (d *demo) sandbox(ctx context.Context, h *hub, args ...string) *exec.Cmd {
	return d.command(ctx, "bin/ocm-sandbox", append([]string{"--dir=" + h.dir, "--programs=" + filepath.Join(d.Top, "bin/sandbox"),
		"--module=" + filepath.Join(d.Top, "sandbox/programs")}, args...)...)
}

func (d *demo) kubectl(ctx context.Context, h *hub, args ...string) *exec.Cmd {
	return d.command(ctx, "bin/sandbox/kubectl", append([]string{"--kubeconfig=" + h.kubeconfig("hub")}, args...)...)
}

// run runs a command and shows what it prints only when it fails.
func (d *demo) run(command *exec.Cmd) error {
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(command.Path), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// program is one that runs until the demonstration ends.
type program struct {
	name    string
	command *exec.Cmd
	log     *os.File
}

func (d *demo) keep(name string, command *exec.Cmd) error {
	log, err := os.Create(filepath.Join(d.dir, name+".log"))
	if err != nil {
		return fmt.Errorf("make the log of %s: %w", name, err)
	}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", name, err), log.Close())
	}
	d.programs = append(d.programs, &program{name, command, log})
	d.say("   %-14s %s", name, log.Name())
	return nil
}

func (p *program) stop() error {
	err := p.command.Process.Signal(syscall.SIGTERM)
	if waited := p.command.Wait(); waited != nil {
		err = errors.Join(err, waited)
	}
	if err != nil {
		text, _ := os.ReadFile(p.log.Name())
		err = fmt.Errorf("%s: %w\n%.2000s", p.name, err, text)
	}
	return errors.Join(err, p.log.Close())
}
