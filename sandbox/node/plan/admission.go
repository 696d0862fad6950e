package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Unsupported returns the settings of a pod that this node does not support, in the
// order of the pod's fields. For example, `container "app": privileged`. A pod
// without any can run. Settings that make no difference to the program (seccomp and
// AppArmor profiles, resource limits, image pull settings, priorities) are ignored.
// hostPaths are the directories that pods may mount by hostPath. Ephemeral containers come
// later: see UnsupportedEphemeral.
func Unsupported(pod *corev1.Pod, hostPaths []string) []string {
	spec := &pod.Spec
	refused := refusals{}
	refused.when(spec.HostNetwork, "hostNetwork")
	refused.when(spec.HostPID, "hostPID")
	refused.when(spec.HostIPC, "hostIPC")
	refused.when(yes(spec.ShareProcessNamespace), "shareProcessNamespace")
	refused.when(spec.HostUsers != nil && !*spec.HostUsers, "hostUsers: false")
	refused.when(spec.RuntimeClassName != nil, "runtimeClassName")
	refused.when(spec.OS != nil && spec.OS.Name != corev1.Linux, "an operating system other than Linux")
	refused.when(len(spec.ResourceClaims) > 0, "resourceClaims")
	if security := spec.SecurityContext; security != nil {
		refused.when(len(security.Sysctls) > 0, "sysctls")
		refused.when(security.WindowsOptions != nil, "windowsOptions")
	}
	for _, v := range spec.Volumes {
		refused.volume(v, hostPaths)
	}
	for _, c := range spec.InitContainers {
		refused.when(c.RestartPolicy != nil && !isSidecar(c) || len(c.RestartPolicyRules) > 0,
			"init container %q: a restartPolicy of its own other than Always (a sidecar)", c.Name)
		refused.container(c)
	}
	for _, c := range spec.Containers {
		refused.when(c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0, "container %q: a restartPolicy of its own", c.Name)
		refused.container(c)
	}
	return refused
}

// refusals collects the unsupported settings.
type refusals []string

func (r *refusals) when(asked bool, format string, args ...any) {
	if asked {
		*r = append(*r, fmt.Sprintf(format, args...))
	}
}

// volume refuses every volume but empty ones, those with files from the API server, claims,
// and hostPath in an allowed directory.
func (r *refusals) volume(v corev1.Volume, hostPaths []string) {
	known := v.EmptyDir != nil || HasFiles(v) || v.HostPath != nil || v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	r.when(v.HostPath != nil && !Within(v.HostPath.Path, hostPaths),
		"volume %q: hostPath outside of the directories that \"ocm-sandbox up --allow-host-path=DIR\" allows", v.Name)
	r.when(!known, "volume %q: a type other than emptyDir, secret, configMap, downwardAPI, projected, persistentVolumeClaim, ephemeral and hostPath", v.Name)
	for _, s := range projections(v) {
		r.when(s.ClusterTrustBundle != nil, "volume %q: clusterTrustBundle", v.Name)
		r.when(s.PodCertificate != nil, "volume %q: podCertificate", v.Name)
	}
}

func (r *refusals) container(c corev1.Container) {
	r.when(len(c.VolumeDevices) > 0, "container %q: volumeDevices", c.Name)
	r.when(len(c.Resources.Claims) > 0, "container %q: resource claims", c.Name)
	for _, v := range c.Env {
		r.when(v.ValueFrom != nil && v.ValueFrom.FileKeyRef != nil, "container %q: fileKeyRef of variable %s", c.Name, v.Name)
	}
	for _, p := range c.Ports {
		r.when(p.HostPort != 0, "container %q: hostPort %d", c.Name, p.HostPort)
		r.when(p.Protocol == corev1.ProtocolSCTP, "container %q: SCTP", c.Name)
	}
	for _, m := range c.VolumeMounts {
		r.when(m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone,
			"container %q: mountPropagation of %s", c.Name, m.MountPath)
	}
	if c.Lifecycle != nil {
		r.when(otherHook(c.Lifecycle.PostStart), "container %q: a postStart hook other than exec, httpGet and sleep", c.Name)
		r.when(otherHook(c.Lifecycle.PreStop), "container %q: a preStop hook other than exec, httpGet and sleep", c.Name)
		r.when(c.Lifecycle.StopSignal != nil, "container %q: stopSignal", c.Name)
	}
	if security := c.SecurityContext; security != nil {
		r.when(yes(security.Privileged), "container %q: privileged", c.Name)
		r.when(security.Capabilities != nil && len(security.Capabilities.Add) > 0, "container %q: capabilities.add", c.Name)
		r.when(security.ProcMount != nil && *security.ProcMount != corev1.DefaultProcMount, "container %q: procMount", c.Name)
		r.when(security.WindowsOptions != nil, "container %q: windowsOptions", c.Name)
	}
}

// otherHook reports whether a hook has none of the supported actions.
func otherHook(h *corev1.LifecycleHandler) bool {
	return h != nil && h.Exec == nil && h.HTTPGet == nil && h.Sleep == nil
}
