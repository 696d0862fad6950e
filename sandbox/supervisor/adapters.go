package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/container"
	"open-cluster-management.io/helloworld-addon/sandbox/network"
	"open-cluster-management.io/helloworld-addon/sandbox/node"
	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// bridge adapts a cluster's network to node.Network.
type bridge struct{ *network.Bridge }

func (b bridge) Attach(name string) (node.PodNetwork, error) { return b.Bridge.Attach(name) }

// runtime adapts package container to node.Runtime.
type runtime struct{}

func (runtime) Start(ctx context.Context, c node.Container, in node.PodNetwork, stdout, stderr io.Writer) (node.Process, error) {
	spec := container.Spec{
		ID: c.ID, Hostname: c.Hostname, Image: c.Image, Root: c.Root, ReadOnlyRoot: c.ReadOnlyRoot, Stdin: c.Stdin, TTY: c.TTY,
		Args: c.Args, Env: c.Env, Dir: c.Dir, UID: int(c.UID), GID: int(c.GID), Capabilities: c.Capabilities,
		HostNames: c.HostNames, ResolvConf: c.ResolvConf,
	}
	if beside, ok := c.Beside.(containerProcess); ok {
		spec.Beside = beside.Process
	}
	for _, group := range c.Groups {
		spec.Groups = append(spec.Groups, int(group))
	}
	for _, m := range c.Mounts {
		spec.Mounts = append(spec.Mounts, container.Mount(m))
	}
	for _, h := range c.Hosts {
		spec.Hosts = append(spec.Hosts, container.Host(h))
	}
	namespace, ok := in.(*network.Namespace)
	if !ok {
		return nil, fmt.Errorf("start container %s: its network is a %T instead of a network of this sandbox", c.ID, in)
	}
	started, err := container.Start(ctx, spec, namespace, stdout, stderr)
	if err != nil {
		return nil, err
	}
	return containerProcess{started}, nil
}

func (runtime) Measure(containers []node.Process) ([]plan.Usage, error) {
	processes := make([]*container.Process, len(containers))
	for i, c := range containers {
		processes[i] = c.(containerProcess).Process // of this runtime
	}
	measured, err := container.Measure(processes)
	if err != nil {
		return nil, err
	}
	usages := make([]plan.Usage, len(measured))
	for i, u := range measured {
		usages[i] = plan.Usage(u)
	}
	return usages, nil
}

// containerProcess adapts a container's process to node.Process.
type containerProcess struct{ *container.Process }

func (p containerProcess) Signal(signal syscall.Signal) error { return p.Process.Signal(signal) }

func (p containerProcess) Wait() plan.Exit {
	exit, err := p.Process.Wait()
	if err != nil {
		klog.ErrorS(err, "Cannot write a container's complete output to its log")
	}
	return plan.Exit{Code: exit.Code, Signal: exit.Signal}
}

func (p containerProcess) Exec(ctx context.Context, e node.Exec) (node.Execution, error) {
	started, err := p.Process.Exec(ctx, container.ExecSpec{Args: e.Args, Stdin: e.Stdin, TTY: e.TTY}, e.Stdout, e.Stderr)
	var start *container.StartError
	if errors.As(err, &start) && start.Reason == container.ReasonRun {
		return nil, &node.ProgramError{Code: start.Code, Err: start.Err}
	}
	if err != nil {
		return nil, err
	}
	return execution{started}, nil
}

// execution adapts a further program in a container to node.Execution.
type execution struct{ *container.Execution }

func (e execution) Wait() plan.Exit {
	exit, err := e.Execution.Wait()
	if err != nil {
		klog.ErrorS(err, "Cannot wait for a program in a container")
	}
	return plan.Exit{Code: exit.Code, Signal: exit.Signal}
}
