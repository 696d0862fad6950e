package demo

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

func (d *demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.Out, format+"\n", args...)
}

func (d *demo) chapter(format string, args ...any) {
	d.say("\n%6s  %s", clock(time.Since(d.started)), fmt.Sprintf(format, args...))
}

// clock returns a duration in seconds, for output.
func clock(t time.Duration) string { return fmt.Sprintf("%.1fs", t.Seconds()) }

func (d *demo) hubKubectl() string {
	return d.Kubectl + " --kubeconfig=" + d.kubeconfig("hub")
}

func (d *demo) clusterKubectl() string {
	return d.Kubectl + " --kubeconfig=" + d.kubeconfig(cluster)
}

// look prints the commands that show the same objects.
func (d *demo) look() {
	d.chapter("6. Look around yourself")
	for _, line := range []string{
		d.hubKubectl() + " get managedclusteraddon -n " + cluster + " helloworld -o yaml   # registrations, conditions",
		d.hubKubectl() + " get manifestwork -n " + cluster + "                            # the manifests for the cluster",
		d.hubKubectl() + " get csr                                             # the request for the agent's certificate",
		d.hubKubectl() + " get role,rolebinding -n " + cluster + "                        # the agent's permissions on the hub",
		d.clusterKubectl() + " get deploy,pod,secret,lease,cm                  # the agent, its credentials, lease, copies",
		d.clusterKubectl() + " logs deploy/helloworld-agent                    # the agent's log",
		d.hubKubectl() + " get cmrs,configmapmirrors -A                         # the rollout, and what each cluster reports",
		d.hubKubectl() + " create configmap mine -n " + cluster + " --from-literal=a=b     # and watch it appear on " + cluster,
	} {
		d.say("   %s", line)
	}
}

// summary prints the measured times beside the aims.
func (d *demo) summary(total, firstCopy, available, changed, deleted time.Duration, distributed distribution) {
	d.chapter("Seen: everything")
	d.say("   %-52s %7s   aim %s", "from `make demo` (programs built) to the copied ConfigMap", clock(total), clock(aimTotal))
	d.say("   %-52s %7s   aim %s", "from the ManagedClusterAddOn to the first copy", clock(firstCopy), clock(aimFirstCopy))
	d.say("   %-52s %7s   aim %s", "from the ManagedClusterAddOn to Available", clock(available), clock(aimAvailable))
	d.say("   %-52s %4d ms", "change on the hub to change of the copy", changed.Milliseconds())
	d.say("   %-52s %4d ms", "deletion on the hub to deletion of the copy", deleted.Milliseconds())
	d.say("   %-52s %7s", "from the ConfigMapReplicaSet to the canary's copy", clock(distributed.canary))
	d.say("   %-52s %7s", "from the ConfigMapReplicaSet to all copies, reported", clock(distributed.all))
}

// indented writes a command's output with a prefix on each line.
type indented struct {
	out    io.Writer
	prefix string
	mid    bool
}

func (w *indented) Write(p []byte) (int, error) {
	var b bytes.Buffer
	for _, c := range p {
		if !w.mid {
			b.WriteString(w.prefix)
		}
		b.WriteByte(c)
		w.mid = c != '\n'
	}
	if _, err := w.out.Write(b.Bytes()); err != nil {
		return 0, fmt.Errorf("write a command's output: %w", err)
	}
	return len(p), nil
}
