package chart

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// passing returns a pod that both levels accept.
func passing() *corev1.PodSpec {
	return &corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   ptr.To(true),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "main",
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false),
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
}

// TestRestrictedV2 proves each rule by a pod that breaks it and no other.
func TestRestrictedV2(t *testing.T) {
	first := func(p *corev1.PodSpec) *corev1.SecurityContext { return p.Containers[0].SecurityContext }
	localhost := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: ptr.To("own")}
	tests := map[string]struct {
		change func(p *corev1.PodSpec)
		want   string
	}{
		"as required": {func(*corev1.PodSpec) {}, ""},
		"NET_BIND_SERVICE": {func(p *corev1.PodSpec) {
			first(p).Capabilities.Add = []corev1.Capability{"NET_BIND_SERVICE"}
		}, ""},
		"no seccomp profile": {func(p *corev1.PodSpec) { p.SecurityContext.SeccompProfile = nil }, ""},
		"an allowed volume": {func(p *corev1.PodSpec) {
			p.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}, ""},

		"host network":         {func(p *corev1.PodSpec) { p.HostNetwork = true }, "hostNetwork is true"},
		"host processes":       {func(p *corev1.PodSpec) { p.HostPID = true }, "hostPID is true"},
		"host IPC":             {func(p *corev1.PodSpec) { p.HostIPC = true }, "hostIPC is true"},
		"the pod's user":       {func(p *corev1.PodSpec) { p.SecurityContext.RunAsUser = ptr.To[int64](65532) }, "runAsUser is set"},
		"the pod's group":      {func(p *corev1.PodSpec) { p.SecurityContext.RunAsGroup = ptr.To[int64](65532) }, "runAsGroup is set"},
		"fsGroup":              {func(p *corev1.PodSpec) { p.SecurityContext.FSGroup = ptr.To[int64](65532) }, "fsGroup is set"},
		"supplemental groups":  {func(p *corev1.PodSpec) { p.SecurityContext.SupplementalGroups = []int64{1} }, "supplementalGroups are set"},
		"SELinux":              {func(p *corev1.PodSpec) { p.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{} }, "seLinuxOptions are set"},
		"seccomp":              {func(p *corev1.PodSpec) { p.SecurityContext.SeccompProfile = localhost }, "not RuntimeDefault"},
		"the container's user": {func(p *corev1.PodSpec) { first(p).RunAsUser = ptr.To[int64](65532) }, "container main: runAsUser is set"},
		"an init container": {func(p *corev1.PodSpec) {
			p.InitContainers = []corev1.Container{{Name: "init", SecurityContext: first(p).DeepCopy()}}
			p.InitContainers[0].SecurityContext.RunAsUser = ptr.To[int64](65532)
		}, "container init: runAsUser is set"},
		"the container's group":   {func(p *corev1.PodSpec) { first(p).RunAsGroup = ptr.To[int64](65532) }, "runAsGroup is set"},
		"the container's SELinux": {func(p *corev1.PodSpec) { first(p).SELinuxOptions = &corev1.SELinuxOptions{} }, "seLinuxOptions are set"},
		"the container's seccomp": {func(p *corev1.PodSpec) { first(p).SeccompProfile = localhost }, "not RuntimeDefault"},
		"privileged":              {func(p *corev1.PodSpec) { first(p).Privileged = ptr.To(true) }, "privileged is true"},
		"escalation":              {func(p *corev1.PodSpec) { first(p).AllowPrivilegeEscalation = ptr.To(true) }, "allowPrivilegeEscalation is true"},
		"nothing dropped":         {func(p *corev1.PodSpec) { first(p).Capabilities = nil }, "do not drop ALL"},
		"no security context":     {func(p *corev1.PodSpec) { p.Containers[0].SecurityContext = nil }, "do not drop ALL"},
		"a capability": {func(p *corev1.PodSpec) {
			first(p).Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
		}, "capabilities add NET_ADMIN"},
		"a host port": {func(p *corev1.PodSpec) {
			p.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		}, "hostPort is set"},
		"a host path": {func(p *corev1.PodSpec) {
			p.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}}}
		}, "volume v is of the kind hostPath"},
		"another volume": {func(p *corev1.PodSpec) {
			p.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}}}
		}, "volume v is of the kind other"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := passing()
			test.change(pod)
			message := ""
			if err := CheckRestrictedV2(pod); err != nil {
				message = err.Error()
			}
			if (test.want == "") != (message == "") || !strings.Contains(message, test.want) || strings.Contains(message, "\n") {
				t.Errorf("got %q, want %q", message, test.want)
			}
		})
	}
}

// TestRestricted proves that Kubernetes' checker is asked for the level restricted.
func TestRestricted(t *testing.T) {
	if err := CheckRestricted(passing()); err != nil {
		t.Errorf("a pod as required: %v", err)
	}
	root := passing()
	root.SecurityContext.RunAsNonRoot = nil
	if err := CheckRestricted(root); err == nil {
		t.Error("a pod without runAsNonRoot passes")
	}
}
