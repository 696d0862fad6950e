package ocm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

// BootstrapUser is the user of a cluster's registration agent before the cluster has joined.
// The hub accepts this user's clusters automatically.
const BootstrapUser = "bootstrap-user"

// bootstrapRBAC lets the bootstrap user create and read ManagedClusters and CSRs, and add clusters to
// the default cluster set, which OCM requires of it:
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/deploy/cluster-manager/chart/cluster-manager/templates/bootstrap_cluster_role.yaml
const bootstrapRBAC = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ocm-sandbox:bootstrap}
rules:
- apiGroups: [certificates.k8s.io]
  resources: [certificatesigningrequests]
  verbs: [create, get, list, watch]
- apiGroups: [cluster.open-cluster-management.io]
  resources: [managedclusters]
  verbs: [get, list, watch, create]
- apiGroups: [cluster.open-cluster-management.io]
  resources: [managedclustersets/join]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ocm-sandbox:bootstrap}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "ocm-sandbox:bootstrap"}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: bootstrap-user}
`

// hubNamespaces are those that OCM's operator and its chart create on a hub.
const hubNamespaces = `
apiVersion: v1
kind: Namespace
metadata: {name: open-cluster-management}
---
apiVersion: v1
kind: Namespace
metadata: {name: open-cluster-management-hub}
`

// controllersRBAC is the RBAC that OCM's operator creates in addition to OCM's manifests:
// every controller reads the API server's authentication configuration.
const controllersRBAC = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ocm-sandbox:authentication-reader, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:open-cluster-management-hub"}
`

// HubOptions configures OCM's part on a hub.
type HubOptions struct {
	// Cluster is the hub.
	Cluster *controlplane.Cluster
	// Manifests is the directory "manifests" of OCM's module.
	Manifests string
	// Attach returns a new network for the program of this name.
	Attach func(name string) (Network, error)
	// FeatureGates are those of OCM's programs.
	FeatureGates FeatureGates
}

// Hub is OCM's part on the hub.
type Hub struct {
	HubOptions
	layout   layout
	webhooks map[string]Network // by the servers' names
	programs []process.Spec
}

// InstallHub writes OCM's CRDs and RBAC to the hub and prepares its programs. The hub's API server calls
// the admission webhooks only after EnableWebhooks.
func InstallHub(ctx context.Context, options HubOptions) (*Hub, error) {
	h := &Hub{HubOptions: options, layout: layoutOf(options.Manifests), webhooks: map[string]Network{}}
	for _, step := range []func(context.Context) error{h.attachWebhooks, h.apply, h.prepareWebhooks, h.prepareControllers} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("install OCM on %s: %w", h.Cluster.Name, err)
		}
	}
	return h, nil
}

func (h *Hub) apply(ctx context.Context) error {
	applier, err := apply.New(h.Cluster.Admin)
	if err != nil {
		return err
	}
	if err := h.applyWithURLs(ctx, applier, append(slices.Clone(h.layout.crds), "cluster-manager/operator/*.crd.yaml")...); err != nil {
		return err
	}
	return h.applyRBAC(ctx, applier)
}

func (h *Hub) applyRBAC(ctx context.Context, applier *apply.Applier) error {
	v := defaultValues()
	v.ClusterProfileEnabled = h.FeatureGates[registrationController]["ClusterProfile"]
	v.ClusterImporterEnabled = h.FeatureGates[registrationController]["ClusterImporter"]
	rendered, err := render(h.Manifests, v, h.layout.rbac...)
	if err != nil {
		return err
	}
	accounts := serviceAccounts(hubNamespace, registrationSA, placementSA, workSA, addonManagerSA, addonWebhookSA, registrationWebhookSA, workWebhookSA)
	for _, documents := range [][]byte{[]byte(hubNamespaces), accounts, rendered, []byte(bootstrapRBAC), []byte(controllersRBAC)} {
		if err := applier.Apply(ctx, documents); err != nil {
			return err
		}
	}
	return nil
}

// placementController is the name of OCM's placement controller.
const placementController = "placement-controller"

// controller is one of OCM's controllers on a hub.
type controller struct {
	name, program, account, command string
	args                            []string
}

// prepareControllers creates the specifications of the controllers.
func (h *Hub) prepareControllers(ctx context.Context) error {
	controllers := []controller{
		{registrationController, "registration", registrationSA, "controller", append(h.FeatureGates.flags(registrationController),
			"--feature-gates="+autoApproval+"=true", "--auto-approved-csr-users="+BootstrapUser)},
		{placementController, "placement", placementSA, "controller", nil},
		{"addon-manager", "addon", addonManagerSA, "manager", nil},
	}
	if h.FeatureGates.runWorkController() {
		controllers = append(controllers, controller{workController, "work", workSA, "manager", h.FeatureGates.flags(workController)})
	}
	for i, c := range controllers {
		kubeconfig, err := accountKubeconfig(ctx, h.Cluster, hubNamespace, c.account)
		if err != nil {
			return err
		}
		args := append([]string{c.command, "--kubeconfig=" + kubeconfig, "--namespace=" + hubNamespace, "--disable-leader-election",
			fmt.Sprintf("--listen=127.0.0.1:%d", h.Cluster.LocalPort(i))}, c.args...)
		h.programs = append(h.programs, h.Cluster.Program(c.name, c.program, append(args, rateFlags(h.Cluster.Load.QPS)...)...))
	}
	return nil
}

// rateFlags returns the flags of an OCM controller for this rate of requests; 0 selects OCM's default.
func rateFlags(qps int) []string {
	if qps == 0 {
		return nil
	}
	return []string{fmt.Sprintf("--kube-api-qps=%d", qps), fmt.Sprintf("--kube-api-burst=%d", 2*qps)}
}

// Run runs OCM's programs of the hub until ctx ends.
func (h *Hub) Run(ctx context.Context, onLoop func(*process.LoopError)) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, spec := range h.programs {
		group.Go(func() error { return process.Keep(ctx, spec, onLoop) })
	}
	group.Go(func() error { return keepDescribed(ctx, h.Cluster.Admin, h.clusterManager) })
	return group.Wait()
}

// named returns the programs of these names.
func (h *Hub) named(names ...string) []process.Spec {
	var found []process.Spec
	for _, spec := range h.programs {
		if slices.Contains(names, strings.TrimPrefix(spec.Name, h.Cluster.Name+"/")) {
			found = append(found, spec)
		}
	}
	return found
}
