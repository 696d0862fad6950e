package judge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	addonv1alpha1 "open-cluster-management.io/api/addon/v1alpha1"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
	addoninformers "open-cluster-management.io/api/client/addon/informers/externalversions"
	"open-cluster-management.io/ocm/pkg/common/options"
	"open-cluster-management.io/ocm/pkg/registration/register"
	"open-cluster-management.io/ocm/pkg/registration/register/csr"
	"open-cluster-management.io/ocm/pkg/registration/register/token"
	spokeregistration "open-cluster-management.io/ocm/pkg/registration/spoke/registration"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/events"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// answer is what OCM's code does at the agent's start.
type answer struct {
	// Valid is the answer of OCM's check of the hub kubeconfig.
	Valid bool
	// Exits reports whether the agent ends with an error.
	Exits bool
	// Requests reports whether it requests new credentials, if it does not exit.
	Requests bool
}

// oracle asks OCM's code. It writes the files of all cases to the same paths, because
// client-go caches a transport for each path.
type oracle struct {
	dir string
	// client has the hub kubeconfig's Secret, and nothing else.
	client *fake.Clientset
}

const namespace = "open-cluster-management-agent"

func (o oracle) hubDir() string { return filepath.Join(o.dir, "hub") }

func (o oracle) bootstrapFile(i int) string {
	return filepath.Join(o.dir, "bootstrap-"+strconv.Itoa(i), register.KubeconfigFile)
}

// writeFiles makes the files of a new pod: the kubelet mounts the bootstrap kubeconfigs, and
// the agent copies the hub kubeconfig's Secret.
func (o oracle) writeFiles(t *testing.T, facts registration.Facts) {
	t.Helper()
	must(t, os.RemoveAll(o.dir))
	for i, b := range facts.Bootstraps {
		dir := filepath.Dir(o.bootstrapFile(i))
		must(t, os.MkdirAll(dir, 0o700))
		for key, value := range b.Data {
			must(t, os.WriteFile(filepath.Join(dir, key), value, 0o600))
		}
	}
	secrets := o.client.CoreV1().Secrets(namespace)
	if err := secrets.Delete(t.Context(), registration.HubSecret, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		must(t, err)
	}
	if facts.Hub.Exists {
		_, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: registration.HubSecret}, Data: facts.Hub.Data},
			metav1.CreateOptions{})
		must(t, err)
	}
	must(t, spokeregistration.DumpSecret(t.Context(), o.client.CoreV1(), namespace, registration.HubSecret, o.hubDir()))
}

// ask returns what OCM's agent does with the first bootstrap kubeconfig. The steps are
// those of RunSpokeAgentWithSpokeInformers.
func (o oracle) ask(t *testing.T, facts registration.Facts) answer {
	t.Helper()
	o.writeFiles(t, facts)
	agent := options.AgentOptions{HubKubeconfigDir: o.hubDir(), SpokeClusterName: facts.ClusterName, AgentID: facts.AgentName}
	must(t, agent.Complete())
	if agent.Validate() != nil {
		return answer{Exits: true}
	}
	option := register.SecretOption{
		SecretNamespace: namespace, SecretName: registration.HubSecret,
		ClusterName: agent.SpokeClusterName, AgentName: agent.AgentID,
		HubKubeconfigFile: agent.HubKubeconfigFile, HubKubeconfigDir: o.hubDir(),
		BootStrapKubeConfigFile: o.bootstrapFile(0),
	}
	d := newDriver(t, facts, option)
	valid, err := register.IsHubKubeConfigValidFunc(d, option)(t.Context())
	if err != nil {
		return answer{Exits: true}
	}
	if _, err := d.BuildClients(t.Context(), option, !valid); err != nil {
		return answer{Valid: valid, Exits: true}
	}
	// The agent hashes the bootstrap kubeconfig's server.
	if _, err := clientcmd.BuildConfigFromFlags("", option.BootStrapKubeConfigFile); valid && err != nil {
		return answer{Valid: valid, Exits: true}
	}
	requested := d.watchRequests(t, option.ClusterName)
	controller := register.NewSecretController(option, d, register.GenerateBootstrapStatusUpdater(), o.client.CoreV1(),
		idleInformer(&corev1.Secret{}), "oracle")
	// The error is that of the request, which is refused here.
	_ = controller.Sync(t.Context(), factory.NewSyncContext("oracle"), factory.DefaultQueueKey)
	return answer{Valid: valid, Requests: *requested}
}

// driver is one of OCM's registration drivers.
type driver interface {
	register.RegisterDriver
	// watchRequests returns a variable that is set when credentials are requested.
	watchRequests(t *testing.T, cluster string) *bool
}

func newDriver(t *testing.T, facts registration.Facts, option register.SecretOption) driver {
	t.Helper()
	if facts.Driver == registration.Token {
		return newTokenDriver(t, facts, option)
	}
	d, err := csr.NewCSRDriver(csr.NewCSROption(), option)
	must(t, err)
	return csrDriver{d}
}

type csrDriver struct{ *csr.CSRDriver }

func (d csrDriver) watchRequests(t *testing.T, cluster string) *bool {
	t.Helper()
	c := &csrControl{informer: idleInformer(&certificatesv1.CertificateSigningRequest{})}
	must(t, d.SetCSRControl(c, cluster))
	return &c.requested
}

// idleInformer returns an informer that is never started.
func idleInformer(of runtime.Object) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{}, of, 0, cache.Indexers{})
}

var errRefused = errors.New("refused")

// csrControl refuses each request, and records that there was one.
type csrControl struct {
	informer  cache.SharedIndexInformer
	requested bool
}

func (c *csrControl) Create(context.Context, events.Recorder, metav1.ObjectMeta, []byte, string, *int32) (string, error) {
	c.requested = true
	return "", errRefused
}

func (c *csrControl) IsApproved(string) (bool, error) { return false, nil }

func (c *csrControl) GetIssuedCertificate(string) ([]byte, error) { return nil, nil }

func (c *csrControl) Informer() cache.SharedIndexInformer { return c.informer }

type tokenDriver struct {
	*token.TokenDriver
	control *tokenControl
}

// BuildClients makes clients as the drivers for clusters do. That for add-ons makes none.
func (tokenDriver) BuildClients(_ context.Context, option register.SecretOption, bootstrap bool) (*register.Clients, error) {
	return register.BuildClientsFromSecretOption(option, bootstrap)
}

func (d tokenDriver) watchRequests(*testing.T, string) *bool { return &d.control.requested }

// tokenControl refuses each request, and records that there was one.
type tokenControl struct{ requested bool }

func (c *tokenControl) CreateToken(context.Context, string, string, int64) (string, error) {
	c.requested = true
	return "", errRefused
}

// newTokenDriver returns the driver of an add-on whose ServiceAccount is ready on the hub.
func newTokenDriver(t *testing.T, facts registration.Facts, option register.SecretOption) driver {
	t.Helper()
	const addon = "helloworld"
	ready := &addonv1alpha1.ManagedClusterAddOn{ObjectMeta: metav1.ObjectMeta{Namespace: option.ClusterName, Name: addon}}
	ready.Status.Conditions = []metav1.Condition{{
		Type: token.TokenInfrastructureReadyCondition, Status: metav1.ConditionTrue,
		Message: fmt.Sprintf("ServiceAccount %s/%s-agent (UID: %s) is ready", option.ClusterName, addon, facts.ServiceAccountUID),
	}}
	client := addonfake.NewSimpleClientset(ready)
	informer := addoninformers.NewSharedInformerFactory(client, 0).Addon().V1alpha1().ManagedClusterAddOns()
	must(t, informer.Informer().GetIndexer().Add(ready))
	control := &tokenControl{}
	return tokenDriver{control: control, TokenDriver: token.NewTokenDriverForAddOn(addon, option.ClusterName, token.NewTokenOption(), control,
		&register.AddOnClients{AddonClient: client, AddonInformer: informer})}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
