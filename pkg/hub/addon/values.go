package addon

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// Customized variables of an AddOnDeploymentConfig that the add-on knows. Others
// are ignored: one config may serve several add-ons.
const (
	// VariablePriorityClassName names the PriorityClass of the agent's pod.
	VariablePriorityClassName = "PriorityClassName"

	// VariableImagePullSecret names a Secret in the install namespace.
	VariableImagePullSecret = "ImagePullSecret"

	// VariableLogVerbosity is the agent's log level, 0 to 10.
	VariableLogVerbosity = "LogVerbosity"
)

// maxLogVerbosity is the highest level that klog's conventions use.
const maxLogVerbosity = 10

// Values is what differs between the agents of different clusters.
type Values struct {
	ClusterName      string
	AddOnUID         types.UID
	InstallNamespace string
	// Hosted says that the agent runs on a hosting cluster.
	Hosted            bool
	Image             string
	NodeSelector      map[string]string
	Tolerations       []corev1.Toleration
	ProxyEnv          []corev1.EnvVar
	Resources         *corev1.ResourceRequirements
	PriorityClassName string
	ImagePullSecret   string
	LogVerbosity      string
}

// NewValues works out the values for the agent of the cluster that addon is
// for, with the image that has been chosen for it and the AddOnDeploymentConfig
// that applies to it (nil: none). The error names every value that is wrong.
//
// A proxy's CA bundle is not among them: the agent reaches the hub with the
// kubeconfig that OCM's registration agent writes, and what it trusts is there.
func NewValues(
	addon *addonv1beta1.ManagedClusterAddOn,
	config *addonv1beta1.AddOnDeploymentConfig,
	image string,
) (Values, error) {
	namespace, err := InstallNamespace(addon, config)
	values := Values{
		ClusterName:      addon.Namespace,
		AddOnUID:         addon.UID,
		InstallNamespace: namespace,
		Hosted:           hosted(addon),
		Image:            image,
	}
	if config == nil {
		return values, err
	}
	errs := []error{err}

	if placement := config.Spec.NodePlacement; placement != nil {
		values.NodeSelector = maps.Clone(placement.NodeSelector)
		values.Tolerations = slices.Clone(placement.Tolerations)
	}
	values.ProxyEnv = proxyEnv(config.Spec.ProxyConfig)
	values.Resources = agentResources(config.Spec.ResourceRequirements)
	errs = append(errs, values.setVariables(config)...)
	return values, errors.Join(errs...)
}

// InstallNamespace is the namespace on the managed cluster for the agent and
// its copies. In order: the config's agentInstallNamespace; the namespace in the
// ManagedClusterAddOn (v1alpha1's spec.installNamespace, which v1beta1 has as an
// annotation); OCM's default.
//
// The API server fills in OCM's default where a config names no namespace, so a
// config with the default cannot be told from one that is silent. It therefore
// does not override a ManagedClusterAddOn: who sets a proxy for an agent does
// not move it elsewhere.
func InstallNamespace(
	addon *addonv1beta1.ManagedClusterAddOn,
	config *addonv1beta1.AddOnDeploymentConfig,
) (string, error) {
	namespace := addon.Annotations[addonv1beta1.InstallNamespaceAnnotation]
	if config != nil {
		named := config.Spec.AgentInstallNamespace
		if named != "" && (named != manifests.DefaultInstallNamespace || namespace == "") {
			namespace = named
		}
	}
	if namespace == "" {
		namespace = manifests.DefaultInstallNamespace
	}
	if err := checkHostedNamespace(addon, namespace); err != nil {
		return "", err
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return "", fmt.Errorf("install namespace %q of ManagedClusterAddOn %s/%s is no valid name: %s",
			namespace, addon.Namespace, addon.Name, strings.Join(problems, "; "))
	}
	return namespace, nil
}

// proxyEnv is the environment that Go's HTTP clients take a proxy from. The
// managed cluster's own API server is never reached through it; the kubelet
// replaces the variable with the server's address.
func proxyEnv(proxy addonv1beta1.ProxyConfig) []corev1.EnvVar {
	var env []corev1.EnvVar
	add := func(name, value string) {
		if value != "" {
			env = append(env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	add("HTTP_PROXY", proxy.HTTPProxy)
	add("HTTPS_PROXY", proxy.HTTPSProxy)
	if len(env) == 0 {
		return nil
	}
	noProxy := "$(KUBERNETES_SERVICE_HOST)"
	if proxy.NoProxy != "" {
		noProxy = proxy.NoProxy + "," + noProxy
	}
	add("NO_PROXY", noProxy)
	return env
}

// agentResources is the last of the requirements that matches the agent's
// container, as the API has it, or nil when none does.
func agentResources(requirements []addonv1beta1.ContainerResourceRequirements) *corev1.ResourceRequirements {
	container := []string{"deployments", manifests.AgentDeployment, manifests.AgentDeployment}
	for _, requirement := range slices.Backward(requirements) {
		id := strings.Split(requirement.ContainerID, ":")
		if slices.EqualFunc(id, container, func(pattern, name string) bool {
			return pattern == "*" || pattern == name
		}) {
			return requirement.Resources.DeepCopy()
		}
	}
	return nil
}

// setVariables takes over the customized variables that the add-on knows and
// returns what is wrong with them.
func (v *Values) setVariables(config *addonv1beta1.AddOnDeploymentConfig) []error {
	var errs []error
	for _, variable := range config.Spec.CustomizedVariables {
		var problems []string
		switch variable.Name {
		case VariablePriorityClassName:
			v.PriorityClassName = variable.Value
			problems = validation.IsDNS1123Subdomain(variable.Value)
		case VariableImagePullSecret:
			v.ImagePullSecret = variable.Value
			problems = validation.IsDNS1123Subdomain(variable.Value)
		case VariableLogVerbosity:
			v.LogVerbosity = variable.Value
			if level, err := strconv.Atoi(variable.Value); err != nil || level < 0 || level > maxLogVerbosity {
				problems = []string{fmt.Sprintf("must be a number from 0 to %d", maxLogVerbosity)}
			}
		}
		if len(problems) > 0 {
			errs = append(errs, fmt.Errorf("customized variable %s of AddOnDeploymentConfig %s/%s has the value %q: %s",
				variable.Name, config.Namespace, config.Name, variable.Value, strings.Join(problems, "; ")))
		}
	}
	return errs
}
