package ocm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
)

// webhookPort is the port of each webhook server.
const webhookPort = 9443

// webhooksTimeout limits the wait for all webhook servers, which start within 2 s on an idle machine, and
// the writing of the configuration.
const webhooksTimeout = 2 * time.Minute

// Network is the network namespace of a program that binds fixed ports. OCM's webhook servers also
// listen on :8000 and :8080, so each needs its own network namespace.
type Network interface {
	IP() netip.Addr
	Do(func() error) error
}

// webhookServer is one of OCM's webhook servers on a hub.
type webhookServer struct {
	// name is that of the program in the sandbox and, after the ClusterManager's name, that
	// of the Service in OCM's manifests.
	name, program, account string
	// component is the one whose feature gates the server has too.
	component string
}

// registrationWebhook is the name of the webhook server for ManagedClusters.
const registrationWebhook = "registration-webhook"

var (
	addonServer        = webhookServer{"addon-webhook", "addon", addonWebhookSA, ""}
	registrationServer = webhookServer{registrationWebhook, "registration", registrationWebhookSA, registrationController}
	workServer         = webhookServer{"work-webhook", "work", workWebhookSA, workController}
)

// attachWebhooks gives each webhook server its own network.
func (h *Hub) attachWebhooks(context.Context) error {
	for _, server := range h.layout.servers {
		network, err := h.Attach(server.name)
		if err != nil {
			return err
		}
		h.webhooks[server.name] = network
	}
	return nil
}

// prepareWebhooks creates the certificates and the specifications of the webhook servers.
func (h *Hub) prepareWebhooks(ctx context.Context) error {
	for _, server := range h.layout.servers {
		network := h.webhooks[server.name]
		certificates, err := h.writeWebhookCertificate(server.name, network.IP())
		if err != nil {
			return err
		}
		kubeconfig, err := accountKubeconfig(ctx, h.Cluster, hubNamespace, server.account)
		if err != nil {
			return err
		}
		spec := h.Cluster.Program(server.name, server.program, append([]string{"webhook-server", "--kubeconfig=" + kubeconfig,
			fmt.Sprintf("--port=%d", webhookPort), "--certdir=" + certificates}, h.FeatureGates.flags(server.component)...)...)
		spec.Inside = network.Do
		h.programs = append(h.programs, spec)
	}
	return nil
}

// writeWebhookCertificate returns the directory of the server's tls.crt and tls.key.
func (h *Hub) writeWebhookCertificate(name string, ip netip.Addr) (string, error) {
	pair, err := h.Cluster.Authority.Serving(name, ip.String())
	if err != nil {
		return "", err
	}
	dir := filepath.Join(h.Cluster.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create the directory of %s: %w", name, err)
	}
	for file, content := range map[string][]byte{"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			return "", fmt.Errorf("write the certificate of %s: %w", name, err)
		}
	}
	return dir, nil
}

// EnableWebhooks waits until the webhook servers listen and then configures the hub's API server to
// call them for ManagedClusters, ManagedClusterSetBindings and ManifestWorks. OCM's operator does it in
// that order, because the API server rejects these objects while a server does not answer.
func (h *Hub) EnableWebhooks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, webhooksTimeout)
	defer cancel()
	for _, server := range h.layout.servers {
		if err := waitListening(ctx, webhookAddress(h.webhooks[server.name])); err != nil {
			return fmt.Errorf("wait for %s/%s: %w", h.Cluster.Name, server.name, err)
		}
	}
	applier, err := apply.New(h.Cluster.Admin)
	if err != nil {
		return err
	}
	if err := h.applyWithURLs(ctx, applier, h.layout.webhooks...); err != nil {
		return fmt.Errorf("enable OCM's webhooks on %s: %w", h.Cluster.Name, err)
	}
	return nil
}

func webhookAddress(network Network) netip.AddrPort {
	return netip.AddrPortFrom(network.IP(), webhookPort)
}

func waitListening(ctx context.Context, address netip.AddrPort) error {
	dialer := net.Dialer{Timeout: time.Second}
	var last error
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var conn net.Conn
		if conn, last = dialer.DialContext(ctx, "tcp", address.String()); last == nil {
			last = conn.Close()
		}
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// applyWithURLs applies OCM's manifests that match the patterns, with the URLs of the webhook servers in
// place of their Services, which the sandbox does not have.
func (h *Hub) applyWithURLs(ctx context.Context, applier *apply.Applier, patterns ...string) error {
	v := defaultValues()
	v.AddonAPIServiceCABundle = base64.StdEncoding.EncodeToString(h.Cluster.Authority.PEM())
	v.RegistrationAPIServiceCABundle = v.AddonAPIServiceCABundle
	v.RegistrationWebhook.Port = webhookPort
	rendered, err := render(h.Manifests, v, patterns...)
	if err != nil {
		return err
	}
	objects, err := apply.Decode(rendered)
	if err != nil {
		return err
	}
	servers := map[string]netip.AddrPort{}
	for name, network := range h.webhooks {
		servers[name] = webhookAddress(network)
	}
	for _, object := range objects {
		if err := callByURL(object, servers); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if _, err := applier.ApplyObject(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// callByURL replaces Services by the URLs of the servers, in a CRD with a conversion webhook or in a
// configuration of admission webhooks. The servers' names are those of the Services without the
// ClusterManager's name.
func callByURL(object *unstructured.Unstructured, servers map[string]netip.AddrPort) error {
	callers, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, caller := range callers {
		if err := setURL(caller, servers); err != nil {
			return err
		}
	}
	if len(callers) > 0 {
		return unstructured.SetNestedSlice(object.Object, callers, "webhooks")
	}
	converter, found, err := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook")
	if err != nil || !found {
		return err
	}
	if err := setURL(converter, servers); err != nil {
		return err
	}
	return unstructured.SetNestedMap(object.Object, converter, "spec", "conversion", "webhook")
}

// setURL sets the URL in the client configuration of a webhook.
func setURL(webhook any, servers map[string]netip.AddrPort) error {
	fields, ok := webhook.(map[string]any)
	if !ok {
		return fmt.Errorf("a webhook is a %T", webhook)
	}
	name, _, nameErr := unstructured.NestedString(fields, "clientConfig", "service", "name")
	path, _, pathErr := unstructured.NestedString(fields, "clientConfig", "service", "path")
	if err := errors.Join(nameErr, pathErr); err != nil {
		return err
	}
	server, ok := servers[strings.TrimPrefix(name, clusterManagerName+"-")]
	if !ok {
		return fmt.Errorf("no webhook server has the Service %q", name)
	}
	unstructured.RemoveNestedField(fields, "clientConfig", "service")
	return unstructured.SetNestedField(fields, "https://"+server.String()+path, "clientConfig", "url")
}
