package addon

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

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

	// VariableLogVerbosity is the agent's log level, 0 to 10. Levels above
	// maxLogVerbosity mean that one.
	VariableLogVerbosity = "LogVerbosity"

	// VariableDeletionHold is how long the agent holds deletions that a list of the
	// hub's ConfigMaps asks for when they are many, for example 30m; 0 switches that
	// off.
	VariableDeletionHold = "DeletionHold"

	// VariableAgentImage is the agent's image instead of the controller's default.
	// The agents are then upgraded by the config's rollout, not by the controller's.
	VariableAgentImage = "AgentImage"
)

// knownVariables are the customized variables of this add-on, sorted.
var knownVariables = []string{VariableAgentImage, VariableDeletionHold, VariableImagePullSecret, VariableLogVerbosity, VariablePriorityClassName}

// maxLogVerbosity is the highest level that is handed to an agent: from 8 on
// client-go logs the bodies of responses, with the hub's credentials among them.
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-instrumentation/logging.md
const maxLogVerbosity = 7

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
	// DeletionHold is the agent's flag; empty means its default.
	DeletionHold string
	// ConfigHash is the hash of the config, by which the hub recognizes the config
	// with which an agent was rolled out.
	ConfigHash string
}

// NewValues returns the values for the agent of the cluster that addon is for,
// with the place and the image that have been chosen for it and the
// AddOnDeploymentConfig that applies to it (nil: none). The error names every value that is wrong.
//
// A proxy's CA bundle is not among them: the agent reaches the hub with the
// kubeconfig that OCM's registration agent writes, and what it trusts is there.
func NewValues(
	addon *addonv1beta1.ManagedClusterAddOn,
	place Place,
	config *addonv1beta1.AddOnDeploymentConfig,
	image string,
) (Values, error) {
	values := Values{
		ClusterName:      addon.Namespace,
		AddOnUID:         addon.UID,
		InstallNamespace: place.Namespace,
		Hosted:           place.HostingCluster != "",
		Image:            image,
	}
	if reference := configReference(addon); reference != nil && reference.DesiredConfig != nil {
		values.ConfigHash = reference.DesiredConfig.SpecHash
	}
	if config == nil {
		return values, nil
	}

	if placement := config.Spec.NodePlacement; placement != nil {
		values.NodeSelector = maps.Clone(placement.NodeSelector)
		values.Tolerations = slices.Clone(placement.Tolerations)
	}
	values.ProxyEnv = proxyEnv(config.Spec.ProxyConfig)
	values.Resources = agentResources(config.Spec.ResourceRequirements)
	return values, errors.Join(values.setVariables(config)...)
}

// proxyNames are the variables of proxyEnv.
var proxyNames = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}

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
		problems := v.setVariable(variable)
		if len(problems) > 0 {
			errs = append(errs, fmt.Errorf("customized variable %s of AddOnDeploymentConfig %s/%s has the value %q: %s",
				variable.Name, config.Namespace, config.Name, variable.Value, strings.Join(problems, "; ")))
		}
	}
	return errs
}

// setVariable takes over one variable and returns what is wrong with its value.
// A variable that the add-on does not know is another add-on's.
func (v *Values) setVariable(variable addonv1beta1.CustomizedVariable) []string {
	switch variable.Name {
	case VariablePriorityClassName:
		v.PriorityClassName = variable.Value
		return validation.IsDNS1123Subdomain(variable.Value)
	case VariableImagePullSecret:
		v.ImagePullSecret = variable.Value
		return validation.IsDNS1123Subdomain(variable.Value)
	case VariableLogVerbosity:
		level, err := strconv.Atoi(variable.Value)
		v.LogVerbosity = strconv.Itoa(min(level, maxLogVerbosity))
		if err != nil || level < 0 || level > 10 {
			return []string{"must be a number from 0 to 10"}
		}
	case VariableDeletionHold:
		v.DeletionHold = variable.Value
		if hold, err := time.ParseDuration(variable.Value); err != nil || hold < 0 || hold > manifests.MaxDeletionHold {
			return []string{fmt.Sprintf("must be a duration from 0 to %s, such as 30m", manifests.MaxDeletionHold)}
		}
	case VariableAgentImage:
		if variable.Value == "" || strings.ContainsAny(variable.Value, " \t\r\n") {
			return []string{"must be an image, such as " + manifests.DefaultImage}
		}
	}
	return nil
}

// variableOf returns the value of a customized variable, or nothing.
func variableOf(config *addonv1beta1.AddOnDeploymentConfig, name string) string {
	if config == nil {
		return ""
	}
	for _, variable := range config.Spec.CustomizedVariables {
		if variable.Name == name {
			return variable.Value
		}
	}
	return ""
}
