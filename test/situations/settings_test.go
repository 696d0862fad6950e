//go:build situations

package situations

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// settings are the situations of the settings that users make.
var settings = []situation{
	{"10_cluster_claims", clusterClaims},
	{"10_external_server_URLs_annotations_and_certificate_expiry", joinSettings},
}

var claimResource = schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1alpha1", Resource: "clusterclaims"}

// spokeOnlyLabel keeps a ClusterClaim on its cluster
// (pkg/registration/spoke/managedcluster/claim_reconcile.go).
const spokeOnlyLabel = "open-cluster-management.io/spoke-only"

// clusterClaims: the cluster's claims are in the ManagedCluster's status, without those that are
// marked as the cluster's own.
func clusterClaims(t *testing.T, c *cluster) {
	c.enabled(t)
	c.through(t, func() {
		c.claim(t, "color.example.com", "blue", nil)
		eventually(t, "the claim on the hub", c.claims("color.example.com", "blue"))
		c.claim(t, "secret.example.com", "x", map[string]any{spokeOnlyLabel: ""})
		c.claim(t, "color.example.com", "green", nil)
		eventually(t, "the changed claim on the hub", c.claims("color.example.com", "green"))
		consistently(t, quiet, "the claim that belongs to the cluster alone stays there", c.claims("secret.example.com", ""))
		for _, name := range []string{"color.example.com", "secret.example.com"} {
			must(t, "delete a claim", c.managed.dynamic.Resource(claimResource).Delete(t.Context(), name, metav1.DeleteOptions{}))
		}
		eventually(t, "the claim gone from the hub", c.claims("color.example.com", ""))
	})
}

// claim writes a ClusterClaim on the managed cluster.
func (c *cluster) claim(t *testing.T, name, value string, labels map[string]any) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": claimResource.GroupVersion().String(), "kind": "ClusterClaim",
		"metadata": map[string]any{"name": name, "labels": labels}, "spec": map[string]any{"value": value},
	}}
	_, err := c.managed.dynamic.Resource(claimResource).Apply(t.Context(), name, object, metav1.ApplyOptions{FieldManager: "situations", Force: true})
	must(t, "write a claim", err)
}

// claims returns a check that the hub has the claim with this value, or no such claim if the value
// is empty.
func (c *cluster) claims(name, want string) check {
	return func(ctx context.Context) error {
		object, err := c.hub.dynamic.Resource(clusterResource).Get(ctx, c.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		entries, _, err := unstructured.NestedSlice(object.Object, "status", "clusterClaims")
		if err != nil {
			return err
		}
		var got any = ""
		for _, entry := range entries {
			if fields, ok := entry.(map[string]any); ok && fields["name"] == name {
				got = fields["value"]
			}
		}
		if got != want {
			return fmt.Errorf("the value of claim %s on the hub is %q, not %q", name, got, want)
		}
		return nil
	}
}

const (
	externalURL = "https://cluster.example.com:6443"
	// certificateLife is the shortest that the registration agent accepts
	// (pkg/registration/register/csr/options.go). The signer backdates certificates by 5 minutes.
	certificateLife = time.Hour
	backdated       = 5 * time.Minute
	annotation      = "agent.open-cluster-management.io/team"
)

// joinSettings: the settings that matter when a cluster joins. The agent writes its external server
// URLs and annotations when it creates the ManagedCluster, and all its certificate requests, also
// those of add-ons, ask for the certificate's life. After the settings are taken away, the
// certificates stay.
func joinSettings(t *testing.T, c *cluster) {
	c.stopRegistration(t)
	c.detach(t)
	c.removeUsedRequests(t)
	// the agent was perhaps stopped before it removed the certificate of the disabled add-on
	err := c.home.CoreV1().Secrets(c.install).Delete(t.Context(), agentSecret, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		must(t, "delete the add-on's credentials", err)
	}
	c.setRegistrationFlags(t, "--spoke-external-server-urls="+externalURL, "--cluster-annotations="+annotation+"=blue,team=blue",
		fmt.Sprintf("--client-cert-expiration-seconds=%.0f", certificateLife.Seconds()))
	eventually(t, "the cluster has joined", c.joined)
	c.put(t, "stays", "a")
	c.enable(t)
	// before the add-on's controller deletes the request, which is used soon
	eventually(t, "the add-on's certificate request", c.requestsAskFor(certificateLife, addonNameLabel+"="+addonName))
	must(t, "the cluster's certificate request", c.requestsAskFor(certificateLife, "!"+addonNameLabel)(t.Context()))
	c.enabled(t)
	object, err := c.hub.dynamic.Resource(clusterResource).Get(t.Context(), c.name, metav1.GetOptions{})
	must(t, "get the ManagedCluster", err)
	t.Run("external_server_URLs", func(t *testing.T) {
		must(t, "the ManagedCluster's client configs", c.hasClientConfig(object))
	})
	t.Run("cluster_annotations_with_the_agents_prefix_alone", func(t *testing.T) {
		got := object.GetAnnotations()
		if _, other := got["team"]; got[annotation] != "blue" || other {
			t.Errorf("annotations %v", got)
		}
	})
	t.Run("clientCertExpirationSeconds_of_the_cluster_and_of_the_addon", c.shortLived)

	noRequest := c.noRequest(t)
	c.through(t, func() {
		renewed := c.renewal(t)
		c.setRegistrationFlags(t)
		eventually(t, "the agent without the settings works", renewed)
	})
	must(t, "no certificate is requested after the settings were taken away", noRequest(t.Context()))
}

// hasClientConfig checks that the ManagedCluster has the external URL with the cluster's authority.
func (c *cluster) hasClientConfig(object *unstructured.Unstructured) error {
	configs, _, err := unstructured.NestedSlice(object.Object, "spec", "managedClusterClientConfigs")
	if err != nil {
		return err
	}
	if len(configs) != 1 {
		return fmt.Errorf("there are %d: %v", len(configs), configs)
	}
	fields, _ := configs[0].(map[string]any)
	if diff := cmp.Diff(externalURL, fields["url"]); diff != "" {
		return errors.New(diff)
	}
	encoded, _ := fields["caBundle"].(string)
	bundle, err := base64.StdEncoding.DecodeString(encoded)
	if err == nil && !bytes.Equal(bytes.TrimSpace(bundle), bytes.TrimSpace(c.managed.config.CAData)) {
		err = fmt.Errorf("the CA bundle is not the cluster's:\n%s", bundle)
	}
	return err
}

// shortLived checks the life of the certificates of the cluster and of the add-on.
func (c *cluster) shortLived(t *testing.T) {
	ofCluster, ofAddOn := c.credentials(t)
	for name, certificate := range map[string]*x509.Certificate{"cluster": ofCluster, "add-on": ofAddOn} {
		if life := certificate.NotAfter.Sub(certificate.NotBefore); life > certificateLife+backdated {
			t.Errorf("the certificate of the %s lives for %s", name, life)
		}
	}
}

// requestsAskFor returns a check that the cluster has certificate requests with these labels, and
// that all of them ask for this life.
func (c *cluster) requestsAskFor(life time.Duration, labels string) check {
	return func(ctx context.Context) error {
		list, err := c.hub.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{LabelSelector: clusterNameLabel + "=" + c.name + "," + labels})
		if err == nil && len(list.Items) == 0 {
			err = errors.New("there is none")
		}
		if err != nil {
			return err
		}
		for i := range list.Items {
			if got := asked(&list.Items[i]); got != life {
				return fmt.Errorf("%s asks for %s", list.Items[i].Name, got)
			}
		}
		return nil
	}
}

func asked(request *certificatesv1.CertificateSigningRequest) time.Duration {
	if request.Spec.ExpirationSeconds == nil {
		return 0
	}
	return time.Duration(*request.Spec.ExpirationSeconds) * time.Second
}

// setRegistrationFlags restarts the registration agent with these further flags.
func (c *cluster) setRegistrationFlags(t *testing.T, flags ...string) {
	t.Helper()
	if len(flags) > 0 {
		t.Cleanup(func() {
			if t.Failed() {
				_, _ = c.shell(context.WithoutCancel(t.Context()), flagsEnv, "")
			}
		})
	}
	_, err := c.shell(t.Context(), flagsEnv, strings.Join(flags, " "))
	must(t, "set the registration agent's flags", err)
}
