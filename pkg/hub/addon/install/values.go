package install

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

// Customized variables of an AddOnDeploymentConfig that the add-on knows. It ignores
// others, because several add-ons may share a config.
const (
	// VariablePriorityClassName is the PriorityClass of the agent's pod.
	VariablePriorityClassName = "PriorityClassName"

	// VariableImagePullSecret is the name of a Secret in the install namespace.
	VariableImagePullSecret = "ImagePullSecret"

	// VariableLogVerbosity is the agent's log level, 0 to 10. A level above
	// manifests.MaxLogVerbosity has the effect of that one.
	VariableLogVerbosity = "LogVerbosity"

	// VariableDeletionHold is how long the agent holds deletions of many copies that a
	// list of the hub's ConfigMaps implies, for example 30m; 0 switches that off.
	// See docs/design.md#rule-10-removals.
	VariableDeletionHold = "DeletionHold"

	// VariableAgentImage is the agent's image instead of the controller's default.
	// The rollout of the config then upgrades the agents, not that of the controller.
	VariableAgentImage = "AgentImage"
)

// knownVariables are the customized variables of this add-on, sorted.
var knownVariables = []string{VariableAgentImage, VariableDeletionHold, VariableImagePullSecret, VariableLogVerbosity, VariablePriorityClassName}

// Values are the differences between the agents of different clusters.
type Values struct {
	ClusterName      string
	AddOnUID         types.UID
	InstallNamespace string
	// Hosted reports whether the agent runs on a hosting cluster.
	Hosted            bool
	Image             string
	NodeSelector      map[string]string
	Tolerations       []corev1.Toleration
	ProxyEnv          []corev1.EnvVar
	Resources         *corev1.ResourceRequirements
	PriorityClassName string
	ImagePullSecret   string
	LogVerbosity      string
	// DeletionHold is the value of the agent's flag; empty means its default.
	DeletionHold string
	// ConfigHash is the hash of the config. The hub finds out by it with which config
	// an agent was rolled out.
	ConfigHash string
}

// NewValues returns the values for the add-on's agent, from its place, its
// AddOnDeploymentConfig, which may be nil, and its image. The error names every
// invalid value.
//
// It does not use a proxy's CA bundle: the CA that the agent trusts is in the
// kubeconfig that OCM's registration agent writes.
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
		ConfigHash:       ConfigHash(addon),
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

// proxyNames are the names of the variables that proxyEnv returns.
var proxyNames = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}

// proxyEnv returns the environment variables of Go's HTTP clients for the proxy. The
// agent never reaches the managed cluster's own API server through it: the kubelet
// replaces $(KUBERNETES_SERVICE_HOST) with the server's address.
// https://pkg.go.dev/net/http#ProxyFromEnvironment
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

// agentResources returns the last requirement that matches the agent's container, as
// the API documents it, or nil.
// https://github.com/open-cluster-management-io/api/blob/v1.3.0/addon/v1beta1/types_addondeploymentconfig.go
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

// setVariables sets the values of known customized variables and returns the errors
// about invalid ones.
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

// setVariable sets the value of one variable and returns the problems with it. It
// ignores an unknown variable, which may be another add-on's.
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
		v.LogVerbosity = strconv.Itoa(min(level, manifests.MaxLogVerbosity))
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

// Variable returns the value of a customized variable; empty means that the config
// does not have it.
func Variable(config *addonv1beta1.AddOnDeploymentConfig, name string) string {
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
