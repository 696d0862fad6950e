//go:build e2e && fleet

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
)

const (
	hostingAnnotation = "addon.open-cluster-management.io/hosting-cluster-name"
	hostedNamespace   = "klusterlet-helloworld-e2e"
	managedSecret     = "helloworld-managed-kubeconfig"
)

// The hosting cluster of a deployed agent does not change under it: neither when
// the annotation is taken away, nor when it names another cluster. The add-on says
// what to do, the agent stays where it is, and deleting the add-on in that state
// removes everything.
func hostingChangeIsRefused(t *testing.T, env *environment) {
	managed, hosting, other := env.second(), env.first(), env.third()
	must(t, "disable the add-on", env.disable(t.Context(), managed))
	for _, change := range []struct{ name, to string }{
		{"annotation_taken_away", ""},
		{"another_hosting_cluster", other.name},
	} {
		t.Run(change.name, func(t *testing.T) {
			defer env.collectOnFailure(t)
			h := env.host(t, managed, hosting)
			source := env.createSource(t, managed, configMap("e2e-hosted", map[string]string{"a": "1"}))
			eventually(t, "the copy", h.managed.hasCopy(source))
			eventually(t, "the hub says so", env.addonCondition(managed, syncedCondition))
			before := env.agentsOf(t, []*cluster{h.hosting})

			must(t, "change the annotation", env.annotateHosting(t.Context(), managed, change.to))
			eventually(t, "the add-on says what to do", env.refuses(t, managed, hostingAnnotation, "disable"))
			consistently(t, quiet, "the agent stays where it is", func(ctx context.Context) error {
				return errors.Join(env.undisturbedAgent(ctx, h.hosting, before), env.hasNoWorks(ctx, managed, other), h.managed.hasCopy(source)(ctx))
			})
			must(t, "put the annotation back", env.annotateHosting(t.Context(), managed, hosting.name))
			eventually(t, "the condition heals", env.refusesNothing(managed, "disable"))

			must(t, "change the annotation again", env.annotateHosting(t.Context(), managed, change.to))
			eventually(t, "the add-on says what to do", env.refuses(t, managed, hostingAnnotation, "disable"))
			must(t, "delete the ManagedClusterAddOn", env.hub.addon.AddonV1beta1().ManagedClusterAddOns(managed.name).
				Delete(t.Context(), addonName, metav1.DeleteOptions{}))
			eventually(t, "nothing of it is left", h.gone)
			must(t, "the copy is gone", h.managed.hasNoCopy(source.Name)(t.Context()))
		})
	}
	env.enableAgain(t, managed)
}

// Agents of two clusters cannot share a namespace of one hosting cluster: they
// would take each other's Secret. The later one is refused, and the first one works
// as before.
func hostedNeighbourIsRefused(t *testing.T, env *environment) {
	first, second, hosting := env.second(), env.third(), env.first()
	for _, c := range []*cluster{first, second} {
		must(t, "disable the add-on", env.disable(t.Context(), c))
	}
	h := env.host(t, first, hosting)
	source := env.createSource(t, first, configMap("e2e-neighbour", map[string]string{"a": "1"}))
	eventually(t, "the copy", h.managed.hasCopy(source))
	before := env.agentsOf(t, []*cluster{h.hosting})

	late := env.hosted(second, hosting)
	cleanup(t, "remove what is left of it", late.release)
	must(t, "enable it for another cluster, in the same namespace", late.enable(t.Context()))
	eventually(t, "the add-on says what to do", env.refuses(t, second, hostedNamespace, first.name+"/"+addonName))
	consistently(t, quiet, "the first one is as before", func(ctx context.Context) error {
		return errors.Join(env.undisturbedAgent(ctx, h.hosting, before), env.hasNoWorks(ctx, second, hosting), h.managed.hasCopy(source)(ctx))
	})
	must(t, "disable the refused one", env.disable(t.Context(), second))
	must(t, "the first one is as before", env.undisturbedAgent(t.Context(), h.hosting, before))
	must(t, "delete the first one's ManagedClusterAddOn", env.hub.addon.AddonV1beta1().ManagedClusterAddOns(first.name).
		Delete(t.Context(), addonName, metav1.DeleteOptions{}))
	eventually(t, "nothing of it is left", h.gone)
	env.enableAgain(t, first, second)
}

// hostedAddOn is an add-on in hosted mode: the managed cluster, and the one where
// its agent runs, both with the hosted agent's install namespace.
type hostedAddOn struct {
	env              *environment
	managed, hosting *cluster
}

func (e *environment) hosted(managed, hosting *cluster) *hostedAddOn {
	m, h := *managed, *hosting
	m.installNamespace, h.installNamespace = hostedNamespace, hostedNamespace
	return &hostedAddOn{e, &m, &h}
}

// host enables the add-on in hosted mode and waits until its agent works. The
// klusterlets are ordinary ones: their registration agent writes the agent's Secret
// on the managed cluster, and the test takes it over to the hosting cluster.
func (e *environment) host(t *testing.T, managed, hosting *cluster) *hostedAddOn {
	t.Helper()
	h := e.hosted(managed, hosting)
	must(t, "delete used certificate requests", e.deleteUsedRequests(t.Context(), managed))
	cleanup(t, "remove what is left of the hosted add-on", h.release)
	must(t, "enable the add-on in hosted mode", h.enable(t.Context()))
	eventually(t, "a kubeconfig of the managed cluster", h.provideKubeconfig)
	eventually(t, "the agent's Secret", func(ctx context.Context) error {
		secret, err := h.managed.hubCredentials(ctx)
		if err != nil {
			return err
		}
		return h.putSecret(ctx, agentSecret, secret.Data)
	})
	eventually(t, "the hosted agent is available", h.hosting.agentAvailable)
	return h
}

func (h *hostedAddOn) enable(ctx context.Context) error {
	_, err := h.env.hub.addon.AddonV1beta1().ManagedClusterAddOns(h.managed.name).Create(ctx, &addonv1beta1.ManagedClusterAddOn{
		ObjectMeta: metav1.ObjectMeta{
			Name: addonName, Namespace: h.managed.name, Labels: map[string]string{suiteLabel: "true"},
			Annotations: map[string]string{installNamespaceAnnotation: hostedNamespace, hostingAnnotation: h.hosting.name},
		},
	}, metav1.CreateOptions{})
	return err
}

// provideKubeconfig gives the agent the managed cluster's address, authority, and a
// token of the add-on's ServiceAccount there.
func (h *hostedAddOn) provideKubeconfig(ctx context.Context) error {
	request, err := h.managed.kube.CoreV1().ServiceAccounts(hostedNamespace).
		CreateToken(ctx, agentServiceAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	paths, err := parseClusters(os.Getenv(insideEnv), 2)
	if err != nil {
		return fmt.Errorf("%s: %w", insideEnv, err)
	}
	config, err := clientcmd.LoadFromFile(paths[h.managed.name])
	if err != nil {
		return err
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: request.Status.Token}
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return h.putSecret(ctx, managedSecret, map[string][]byte{"kubeconfig": content})
}

// putSecret writes a Secret of the agent's on the hosting cluster.
func (h *hostedAddOn) putSecret(ctx context.Context, name string, data map[string][]byte) error {
	secrets := h.hosting.kube.CoreV1().Secrets(hostedNamespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	_, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	return err
}

// annotateHosting sets the hosting cluster of the add-on, or takes it away.
func (e *environment) annotateHosting(ctx context.Context, c *cluster, hosting string) error {
	value := "null"
	if hosting != "" {
		value = fmt.Sprintf("%q", hosting)
	}
	_, err := e.hub.addon.AddonV1beta1().ManagedClusterAddOns(c.name).Patch(ctx, addonName, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, hostingAnnotation, value), metav1.PatchOptions{})
	return err
}

// hasNoWorks checks that the managed cluster's add-on has no ManifestWork in the
// namespace of another cluster.
func (e *environment) hasNoWorks(ctx context.Context, managed, other *cluster) error {
	works, err := e.hub.work.WorkV1().ManifestWorks(other.name).List(ctx, metav1.ListOptions{
		LabelSelector: addonNameLabel + "=" + addonName + "," + addonNamespaceLabel + "=" + managed.name})
	if err == nil && len(works.Items) > 0 {
		err = fmt.Errorf("there is ManifestWork %s/%s", other.name, works.Items[0].Name)
	}
	return err
}

// gone checks that nothing of the hosted add-on is left, on any cluster.
func (h *hostedAddOn) gone(ctx context.Context) error {
	addOn, err := h.env.hub.addon.AddonV1beta1().ManagedClusterAddOns(h.managed.name).Get(ctx, addonName, metav1.GetOptions{})
	if err == nil {
		return fmt.Errorf("ManagedClusterAddOn is still there, with the finalizers %q: %s", addOn.Finalizers, conditionLine(addOn.Status.Conditions))
	}
	if err := gone("ManagedClusterAddOn", err); err != nil {
		return err
	}
	var errs []error
	for _, c := range h.env.clusters {
		errs = append(errs, h.env.hasNoWorks(ctx, h.managed, c))
	}
	errs = append(errs, h.env.disabled(h.managed)(ctx))
	_, err = h.hosting.agent(ctx)
	return errors.Join(append(errs, gone("the agent on the hosting cluster", err))...)
}

// release removes what a failure has left, also what keeps the add-on there.
func (h *hostedAddOn) release(ctx context.Context) error {
	addOns := h.env.hub.addon.AddonV1beta1().ManagedClusterAddOns(h.managed.name)
	addOn, err := addOns.Get(ctx, addonName, metav1.GetOptions{})
	if err == nil && addOn.Annotations[installNamespaceAnnotation] == hostedNamespace {
		_, err = addOns.Patch(ctx, addonName, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		err = errors.Join(ignoreNotFound(err), ignoreNotFound(addOns.Delete(ctx, addonName, metav1.DeleteOptions{})))
	}
	errs := []error{ignoreNotFound(err)}
	for _, c := range h.env.clusters {
		errs = append(errs, h.env.hub.work.WorkV1().ManifestWorks(c.name).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: addonNameLabel + "=" + addonName + "," + addonNamespaceLabel + "=" + h.managed.name}))
	}
	for _, c := range []*cluster{h.managed, h.hosting} {
		errs = append(errs, c.deleteNamespace(ctx, hostedNamespace))
	}
	return errors.Join(errs...)
}
