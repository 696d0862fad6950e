package chart

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	psa "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// restrictedV2Volumes are the volumes that OpenShift's restricted-v2 allows, in
// the names of the SecurityContextConstraints API.
var restrictedV2Volumes = []string{
	"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret",
}

// CheckRestrictedV2 returns what OpenShift's SecurityContextConstraints
// restricted-v2 rejects in a pod. OpenShift applies them to the pods of every
// user by default, and chooses user, group, fsGroup and SELinux context from the
// namespace's ranges, so that a pod must leave them empty.
//
// https://docs.openshift.com/container-platform/latest/authentication/managing-security-context-constraints.html
// https://github.com/openshift/cluster-kube-apiserver-operator/blob/master/bindata/bootkube/scc-manifests/0000_20_kube-apiserver-operator_00_scc-restricted-v2.yaml
func CheckRestrictedV2(pod *corev1.PodSpec) error {
	var errs []error
	report := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	report(pod.HostNetwork, "hostNetwork is true")
	report(pod.HostPID, "hostPID is true")
	report(pod.HostIPC, "hostIPC is true")
	if c := pod.SecurityContext; c != nil {
		report(c.RunAsUser != nil, "runAsUser is set")
		report(c.RunAsGroup != nil, "runAsGroup is set")
		report(c.FSGroup != nil, "fsGroup is set")
		report(len(c.SupplementalGroups) > 0, "supplementalGroups are set")
		report(c.SELinuxOptions != nil, "seLinuxOptions are set")
		report(!defaultSeccomp(c.SeccompProfile), "seccompProfile is %s, not RuntimeDefault", c.SeccompProfile)
	}
	for i := range pod.Volumes {
		kind := volumeKind(&pod.Volumes[i])
		report(!slices.Contains(restrictedV2Volumes, kind), "volume %s is of the kind %s", pod.Volumes[i].Name, kind)
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if err := checkContainer(&c); err != nil {
			errs = append(errs, fmt.Errorf("container %s: %w", c.Name, err))
		}
	}
	return errors.Join(errs...)
}

func checkContainer(container *corev1.Container) error {
	var errs []error
	report := func(bad bool, problem string) {
		if bad {
			errs = append(errs, errors.New(problem))
		}
	}
	for _, port := range container.Ports {
		report(port.HostPort != 0, "hostPort is set")
	}
	c := container.SecurityContext
	if c == nil {
		c = &corev1.SecurityContext{}
	}
	report(c.RunAsUser != nil, "runAsUser is set")
	report(c.RunAsGroup != nil, "runAsGroup is set")
	report(c.SELinuxOptions != nil, "seLinuxOptions are set")
	report(!defaultSeccomp(c.SeccompProfile), "seccompProfile is not RuntimeDefault")
	report(isTrue(c.Privileged), "privileged is true")
	report(isTrue(c.AllowPrivilegeEscalation), "allowPrivilegeEscalation is true")
	capabilities := c.Capabilities
	if capabilities == nil {
		capabilities = &corev1.Capabilities{}
	}
	report(!slices.Contains(capabilities.Drop, "ALL"), "capabilities do not drop ALL")
	for _, added := range capabilities.Add {
		report(added != "NET_BIND_SERVICE", "capabilities add "+string(added))
	}
	return errors.Join(errs...)
}

func isTrue(value *bool) bool { return value != nil && *value }

func defaultSeccomp(profile *corev1.SeccompProfile) bool {
	return profile == nil || profile.Type == corev1.SeccompProfileTypeRuntimeDefault
}

// volumeKind returns the name of the volume's source in the
// SecurityContextConstraints API, or "other".
func volumeKind(volume *corev1.Volume) string {
	source := volume.VolumeSource
	for kind, there := range map[string]bool{
		"configMap":             source.ConfigMap != nil,
		"csi":                   source.CSI != nil,
		"downwardAPI":           source.DownwardAPI != nil,
		"emptyDir":              source.EmptyDir != nil,
		"ephemeral":             source.Ephemeral != nil,
		"persistentVolumeClaim": source.PersistentVolumeClaim != nil,
		"projected":             source.Projected != nil,
		"secret":                source.Secret != nil,
		"hostPath":              source.HostPath != nil,
	} {
		if there {
			return kind
		}
	}
	return "other"
}

// CheckRestricted returns what the Pod Security level restricted rejects in a
// pod, by Kubernetes' own checks.
//
// https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
func CheckRestricted(pod *corev1.PodSpec) error {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return fmt.Errorf("set up Pod Security's checks: %w", err)
	}
	level := psa.LevelVersion{Level: psa.LevelRestricted, Version: psa.LatestVersion()}
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &metav1.ObjectMeta{}, pod))
	if !result.Allowed {
		return errors.New(result.ForbiddenDetail())
	}
	return nil
}
