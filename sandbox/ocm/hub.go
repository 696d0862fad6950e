package ocm

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

// BootstrapUser is the user of a cluster's registration agent before the cluster has joined.
// The hub accepts this user's clusters automatically.
const BootstrapUser = "bootstrap-user"

// webhookPort is the port of the add-on API's conversion webhook.
const webhookPort = 9443

// bootstrapRBAC lets the bootstrap user create and read ManagedClusters and CSRs, which OCM
// requires of it.
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

// Network is the network namespace of a program that binds fixed ports. OCM's webhook server
// also listens on :8000 and :8080, so that of each hub needs its own network namespace.
type Network interface {
	IP() netip.Addr
	Do(func() error) error
}

// HubOptions configures OCM's part on a hub.
type HubOptions struct {
	// Cluster is the hub.
	Cluster *controlplane.Cluster
	// Manifests is the directory "manifests" of OCM's module.
	Manifests string
	// Webhook is the network of the webhook server.
	Webhook Network
	// FeatureGates are those of OCM's programs.
	FeatureGates FeatureGates
}

// Hub is OCM's part on the hub.
type Hub struct {
	HubOptions
	webhook  string // directory of the webhook server's tls.crt and tls.key
	programs []process.Spec
}

// InstallHub writes OCM's CRDs and RBAC to the hub and prepares its programs.
func InstallHub(ctx context.Context, options HubOptions) (*Hub, error) {
	h := &Hub{HubOptions: options, webhook: filepath.Join(options.Cluster.Dir, "addon-webhook")}
	applier, err := apply.New(h.Cluster.Admin)
	if err != nil {
		return nil, err
	}
	if err := h.serveWebhook(); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, *apply.Applier) error{h.applyCRDs, h.applyRBAC} {
		if err := step(ctx, applier); err != nil {
			return nil, fmt.Errorf("install OCM on %s: %w", h.Cluster.Name, err)
		}
	}
	return h, h.prepare(ctx)
}

func (h *Hub) serveWebhook() error {
	pair, err := h.Cluster.Authority.Serving("addon-webhook", h.Webhook.IP().String())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(h.webhook, 0o700); err != nil {
		return fmt.Errorf("create the webhook's directory: %w", err)
	}
	for name, content := range map[string][]byte{"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM} {
		if err := os.WriteFile(filepath.Join(h.webhook, name), content, 0o600); err != nil {
			return fmt.Errorf("write the webhook's certificate: %w", err)
		}
	}
	return nil
}

func (h *Hub) applyCRDs(ctx context.Context, applier *apply.Applier) error {
	v := defaultValues()
	v.AddonAPIServiceCABundle = base64.StdEncoding.EncodeToString(h.Cluster.Authority.PEM())
	rendered, err := render(h.Manifests, v, "cluster-manager/hub/crds/*.yaml")
	if err != nil {
		return err
	}
	crds, err := apply.Decode(rendered)
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := convertByURL(crd, fmt.Sprintf("https://%s/convert", netip.AddrPortFrom(h.Webhook.IP(), webhookPort))); err != nil {
			return fmt.Errorf("conversion webhook of %s: %w", crd.GetName(), err)
		}
	}
	documents, err := encode(crds)
	if err != nil {
		return err
	}
	return applier.Apply(ctx, documents)
}

func (h *Hub) applyRBAC(ctx context.Context, applier *apply.Applier) error {
	v := defaultValues()
	v.ClusterProfileEnabled = h.FeatureGates[registrationController]["ClusterProfile"]
	v.ClusterImporterEnabled = h.FeatureGates[registrationController]["ClusterImporter"]
	rendered, err := render(h.Manifests, v,
		"cluster-manager/hub/registration/clusterrole*.yaml",
		"cluster-manager/hub/placement/clusterrole*.yaml",
		"cluster-manager/hub/work/executor-admin-clusterrole.yaml",
		"cluster-manager/hub/addon-manager/clusterrole*.yaml",
		"cluster-manager/hub/addon-manager/work-executor-*.yaml",
	)
	if err != nil {
		return err
	}
	accounts := serviceAccounts(hubNamespace, controllerSA, placementSA, addonManagerSA, addonWebhookSA)
	for _, documents := range [][]byte{[]byte(hubNamespaces), accounts, rendered, []byte(bootstrapRBAC), []byte(controllersRBAC)} {
		if err := applier.Apply(ctx, documents); err != nil {
			return err
		}
	}
	return nil
}

// prepare creates the kubeconfig and the specification of every program.
func (h *Hub) prepare(ctx context.Context) error {
	controllers := []struct {
		name, program, account, command string
		args                            []string
	}{
		{"addon-webhook", "addon", addonWebhookSA, "webhook-server",
			[]string{fmt.Sprintf("--port=%d", webhookPort), "--certdir=" + h.webhook}},
		{registrationController, "registration", controllerSA, "controller", append(h.FeatureGates.flags(registrationController),
			"--feature-gates="+autoApproval+"=true", "--auto-approved-csr-users="+BootstrapUser)},
		{"placement-controller", "placement", placementSA, "controller", nil},
		{"addon-manager", "addon", addonManagerSA, "manager", nil},
	}
	for i, c := range controllers {
		kubeconfig, err := accountKubeconfig(ctx, h.Cluster, hubNamespace, c.account)
		if err != nil {
			return err
		}
		args := append([]string{c.command, "--kubeconfig=" + kubeconfig}, c.args...)
		if c.command != "webhook-server" {
			args = append(args, "--namespace="+hubNamespace, "--disable-leader-election",
				fmt.Sprintf("--listen=127.0.0.1:%d", h.Cluster.LocalPort(i)))
			args = append(args, rateFlags(h.Cluster.Load.QPS)...)
		}
		spec := h.Cluster.Program(c.name, c.program, args...)
		if c.command == "webhook-server" {
			spec.Inside = h.Webhook.Do
		}
		h.programs = append(h.programs, spec)
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
	return keepAll(ctx, h.programs, onLoop)
}

func keepAll(ctx context.Context, programs []process.Spec, onLoop func(*process.LoopError)) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, spec := range programs {
		group.Go(func() error { return process.Keep(ctx, spec, onLoop) })
	}
	return group.Wait()
}
