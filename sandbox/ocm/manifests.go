package ocm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// The names in OCM's own charts.
const (
	clusterManagerName = "cluster-manager"
	hubNamespace       = "open-cluster-management-hub"

	klusterletName     = "klusterlet"
	agentNamespace     = "open-cluster-management-agent"
	registrationSuffix = "registration-sa"
	workSuffix         = "work-sa"
	registrationSA     = "registration-controller-sa"
	placementSA        = "placement-controller-sa"
	workSA             = "work-controller-sa"
	addonManagerSA     = "addon-manager-controller-sa"
	aggregateToWork    = "open-cluster-management.io/aggregate-to-work"

	addonWebhookSA        = "addon-webhook-sa"
	registrationWebhookSA = "registration-webhook-sa"
	workWebhookSA         = "work-webhook-sa"

	// kubeconfigKey is the key of the Secrets below.
	kubeconfigKey = "kubeconfig"
)

const (
	// BootstrapSecret holds the kubeconfig with which a cluster joins its hub.
	BootstrapSecret = "bootstrap-hub-kubeconfig"
	// HubSecret holds the credentials of the cluster on the hub.
	HubSecret = "hub-kubeconfig-secret"
	// ExternalSecret holds an administrator's kubeconfig of a cluster in hosted mode, in the
	// agents' namespace on the hosting cluster. OCM's operator and hosted add-ons use it:
	// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/operator/helpers/queuekey.go
	ExternalSecret = "external-managed-kubeconfig"
)

// values holds the inputs of OCM's templates of CRDs and RBAC, under OCM's names
// (manifests.HubConfig and the klusterlet's configuration in OCM's module).
type values struct {
	ClusterManagerName, ClusterManagerNamespace                    string
	AddonAPIServiceCABundle, RegistrationAPIServiceCABundle        string
	RegistrationWebhook                                            struct{ Port int }
	ClusterImporterEnabled, ClusterProfileEnabled, GRPCAuthEnabled bool

	KlusterletName, KlusterletNamespace, AgentNamespace string
	RegistrationServiceAccount, WorkServiceAccount      string

	Labels map[string]string
}

func defaultValues() values {
	return values{
		ClusterManagerName: clusterManagerName, ClusterManagerNamespace: hubNamespace,
	}
}

// klusterletValues returns the values of a klusterlet whose agents are in the namespace on their
// hosting cluster. On the managed cluster they are always in agentNamespace.
func klusterletValues(name, namespace string) values {
	return values{
		KlusterletName: name, KlusterletNamespace: agentNamespace, AgentNamespace: namespace,
		RegistrationServiceAccount: name + "-" + registrationSuffix, WorkServiceAccount: name + "-" + workSuffix,
	}
}

// render renders the templates below dir that match the patterns as one YAML stream, in the order
// of their names.
func render(dir string, v values, patterns ...string) ([]byte, error) {
	var files []string
	for _, pattern := range patterns {
		matches, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("look for OCM's manifests %s: %w", pattern, err)
		}
		if len(matches) == 0 {
			return nil, fmt.Errorf("no manifest of OCM matches %s in %s: remove the directory of the built programs and build them again", pattern, dir)
		}
		slices.Sort(matches)
		files = append(files, matches...)
	}
	var out bytes.Buffer
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a manifest of OCM: %w", err)
		}
		t, err := template.New(filepath.Base(file)).Parse(string(content))
		if err != nil {
			return nil, fmt.Errorf("parse OCM's manifest %s: %w", file, err)
		}
		if err := t.Execute(&out, v); err != nil {
			return nil, fmt.Errorf("render OCM's manifest %s: %w", file, err)
		}
		out.WriteString("\n---\n")
	}
	return out.Bytes(), nil
}

// serviceAccounts returns the manifests of ServiceAccounts in the namespace. It replaces OCM's own
// templates, because the API server rejects an annotation in that of the registration controller.
func serviceAccounts(namespace string, names ...string) []byte {
	var out strings.Builder
	for _, name := range names {
		fmt.Fprintf(&out, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s, namespace: %s}\n---\n", name, namespace)
	}
	return []byte(out.String())
}
