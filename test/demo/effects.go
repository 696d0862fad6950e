package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The names that users of the add-on rely on.
const (
	addonName       = "helloworld"
	agentDeployment = "helloworld-agent"
	hubSecret       = "helloworld-hub-kubeconfig"
	installedIn     = "default"
	controllerIn    = "open-cluster-management"
	controller      = "helloworld-controller"
	// controllerOfSets carries out ConfigMapReplicaSets.
	controllerOfSets = "helloworld-replicaset-controller"
)

// runs is that a Deployment on the hub is available.
func (d *demo) runs(name, what string) effect {
	return effect{
		key: name, what: what + " runs on the hub",
		where: d.hubKubectl() + " -n " + controllerIn + " describe deploy,pod",
		look: func(ctx context.Context) (string, bool, error) {
			deployment, err := d.clients.hub.AppsV1().Deployments(controllerIn).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return "", false, absent(err)
			}
			return fmt.Sprintf("Deployment %s/%s: %d of %d replicas available", controllerIn, name,
				deployment.Status.AvailableReplicas, deployment.Status.Replicas), available(deployment), nil
		},
	}
}

// enabling returns the effects of enabling the add-on, in their usual order.
func (d *demo) enabling() []effect {
	return []effect{d.work(), d.request(), d.secret(), d.agent(), d.copyHas("hello from the hub"), d.lease(), d.addonAvailable()}
}

func (d *demo) work() effect {
	return effect{
		key: "work", what: "the controller ships the agent in a ManifestWork, and the work agent applies it",
		where: d.hubKubectl() + " -n " + cluster + " get manifestwork -o yaml",
		look: func(ctx context.Context) (string, bool, error) {
			work, err := d.clients.work.WorkV1().ManifestWorks(cluster).Get(ctx, "addon-helloworld-deploy-0", metav1.GetOptions{})
			if err != nil {
				return "", false, absent(err)
			}
			var kinds []string
			for _, m := range work.Status.ResourceStatus.Manifests {
				kinds = append(kinds, m.ResourceMeta.Kind+" "+m.ResourceMeta.Name)
			}
			return "ManifestWork " + cluster + "/" + work.Name + ": " + strings.Join(kinds, ", "),
				meta.IsStatusConditionTrue(work.Status.Conditions, "Applied"), nil
		},
	}
}

func (d *demo) request() effect {
	return effect{
		key: "csr", what: "the cluster's registration agent asks for the add-on's certificate; the controller approves it",
		where: d.hubKubectl() + " get csr -o yaml",
		look: func(ctx context.Context) (string, bool, error) {
			list, err := d.clients.hub.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{
				LabelSelector: "open-cluster-management.io/addon-name=" + addonName,
			})
			if err != nil {
				return "", false, err
			}
			for i := range list.Items {
				csr := &list.Items[i]
				if details, ok := approved(csr); ok {
					return details, true, nil
				}
			}
			return "", false, nil
		},
	}
}

// approved returns the requester, the approver and the reason of an approved request.
func approved(csr *certificatesv1.CertificateSigningRequest) (string, bool) {
	for _, c := range csr.Status.Conditions {
		if c.Type != certificatesv1.CertificateApproved {
			continue
		}
		var by string
		for _, f := range csr.ManagedFields {
			if f.Subresource == "approval" {
				by = f.Manager
			}
		}
		return fmt.Sprintf("CSR %s\nasked by   %s\napproved by %s: %s: %s", csr.Name, csr.Spec.Username, by, c.Reason, c.Message), true
	}
	return "", false
}

func (d *demo) secret() effect {
	return effect{
		key: "secret", what: "the registration agent keeps the signed certificate in the Secret of the add-on",
		where: d.clusterKubectl() + " -n " + installedIn + " get secret",
		look: func(ctx context.Context) (string, bool, error) {
			secret, err := d.clients.cluster.CoreV1().Secrets(installedIn).Get(ctx, hubSecret, metav1.GetOptions{})
			if err != nil {
				return "", false, absent(err)
			}
			return fmt.Sprintf("Secret %s/%s on %s", installedIn, secret.Name, cluster),
				len(secret.Data["tls.crt"]) > 0 && len(secret.Data["kubeconfig"]) > 0, nil
		},
	}
}

func (d *demo) agent() effect {
	return effect{
		key: "agent", what: "the agent runs on the managed cluster",
		where: d.clusterKubectl() + " -n " + installedIn + " describe deploy,pod",
		look: func(ctx context.Context) (string, bool, error) {
			deployment, err := d.clients.cluster.AppsV1().Deployments(installedIn).Get(ctx, agentDeployment, metav1.GetOptions{})
			if err != nil {
				return "", false, absent(err)
			}
			return fmt.Sprintf("Deployment %s/%s on %s", installedIn, agentDeployment, cluster), available(deployment), nil
		},
	}
}

func (d *demo) copyHas(greeting string) effect {
	return effect{
		key: "copy", what: fmt.Sprintf("the ConfigMap is on the managed cluster: %q", greeting),
		where: d.clusterKubectl() + " -n " + installedIn + " logs deploy/" + agentDeployment,
		look: func(ctx context.Context) (string, bool, error) {
			configMap, err := d.clients.cluster.CoreV1().ConfigMaps(installedIn).Get(ctx, configMapName, metav1.GetOptions{})
			if err != nil {
				return "", false, absent(err)
			}
			return fmt.Sprintf("ConfigMap %s/%s on %s", installedIn, configMapName, cluster), configMap.Data["greeting"] == greeting, nil
		},
	}
}

func (d *demo) copyGone() effect {
	return effect{
		key: "gone", what: "the copy is gone from the managed cluster",
		where: d.clusterKubectl() + " -n " + installedIn + " logs deploy/" + agentDeployment,
		look: func(ctx context.Context) (string, bool, error) {
			_, err := d.clients.cluster.CoreV1().ConfigMaps(installedIn).Get(ctx, configMapName, metav1.GetOptions{})
			return "", apierrors.IsNotFound(err), absent(err)
		},
	}
}

func (d *demo) lease() effect {
	return effect{
		key: "lease", what: "the agent renews its lease",
		where: d.clusterKubectl() + " -n " + installedIn + " get lease -o yaml",
		look: func(ctx context.Context) (string, bool, error) {
			lease, err := d.clients.cluster.CoordinationV1().Leases(installedIn).Get(ctx, addonName, metav1.GetOptions{})
			if err != nil || lease.Spec.RenewTime == nil {
				return "", false, absent(err)
			}
			return fmt.Sprintf("Lease %s/%s on %s, renewed %s", installedIn, addonName, cluster,
				lease.Spec.RenewTime.Format(time.TimeOnly)), true, nil
		},
	}
}

func (d *demo) addonAvailable() effect {
	return effect{
		key: "available", what: "OCM reports the add-on as Available (its registration agent reads leases every 30 s)",
		where: d.hubKubectl() + " -n " + cluster + " get managedclusteraddon " + addonName + " -o yaml",
		look: func(ctx context.Context) (string, bool, error) {
			addon, err := d.clients.addon.AddonV1beta1().ManagedClusterAddOns(cluster).Get(ctx, addonName, metav1.GetOptions{})
			if err != nil {
				return "", false, absent(err)
			}
			var lines []string
			for _, c := range addon.Status.Conditions {
				lines = append(lines, fmt.Sprintf("condition %s=%s (%s)", c.Type, c.Status, c.Reason))
			}
			return strings.Join(lines, "\n"), meta.IsStatusConditionTrue(addon.Status.Conditions, "Available"), nil
		},
	}
}

// absent drops a NotFound error.
func absent(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func available(deployment *appsv1.Deployment) bool {
	for _, c := range deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentAvailable {
			return c.Status == corev1.ConditionTrue && deployment.Status.ObservedGeneration == deployment.Generation
		}
	}
	return false
}
