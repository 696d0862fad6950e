package supervisor

import (
	"context"
	"fmt"
	"io"
	"syscall"

	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/container"
	"open-cluster-management.io/helloworld-addon/sandbox/images"
	"open-cluster-management.io/helloworld-addon/sandbox/network"
	"open-cluster-management.io/helloworld-addon/sandbox/node"
	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// imageUser is whom an image's programs run as when the pod does not say: the
// user that images without one of their own commonly name "nonroot".
const imageUser = 65532

// registry is the sandbox's images as a node asks for them.
type registry struct{ store images.Store }

func (r registry) Resolve(name string) (plan.Image, bool) {
	dir, _, err := r.store.Resolve(name)
	if err != nil {
		klog.ErrorS(err, "Cannot look up an image", "image", name)
	}
	return plan.Image{Dir: dir, UID: imageUser, GID: imageUser}, dir != ""
}

func (r registry) Known() []string {
	_, known, err := r.store.Resolve("")
	if err != nil {
		return []string{fmt.Sprintf("(%v)", err)}
	}
	return known
}

// bridge is a cluster's network as its node asks for it.
type bridge struct{ *network.Bridge }

func (b bridge) Attach(name string) (node.PodNetwork, error) { return b.Bridge.Attach(name) }

// runtime starts a node's containers as processes in namespaces of their own.
type runtime struct{}

func (runtime) Start(ctx context.Context, c node.Container, in node.PodNetwork, stdout, stderr io.Writer) (node.Process, error) {
	spec := container.Spec{
		ID: c.ID, Hostname: c.Hostname, Image: c.Image, Root: c.Root, ReadOnlyRoot: c.ReadOnlyRoot,
		Args: c.Args, Env: c.Env, Dir: c.Dir, UID: int(c.UID), GID: int(c.GID),
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
		return nil, fmt.Errorf("start container %s: its network is a %T, not one of this sandbox", c.ID, in)
	}
	started, err := container.Start(ctx, spec, namespace, stdout, stderr)
	if err != nil {
		return nil, err
	}
	return containerProcess{started}, nil
}

// containerProcess is a container's process as a node sees it.
type containerProcess struct{ *container.Process }

func (p containerProcess) Signal(signal syscall.Signal) error { return p.Process.Signal(signal) }

func (p containerProcess) Wait() plan.Exit {
	exit, err := p.Process.Wait()
	if err != nil {
		klog.ErrorS(err, "A container's output was not written to its log whole")
	}
	return plan.Exit{Code: exit.Code, Signal: exit.Signal}
}
