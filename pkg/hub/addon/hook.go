package addon

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"

	"open-cluster-management.io/helloworld-addon/manifests"
)

// RenderHook returns the pre-delete hook of the add-on with this UID: the Job
// that removes the copies, run by the framework while the add-on is deleted.
//
// Its name has a hash of the Job and of the UID. So the completion of an earlier
// add-on's Job is never taken for this one's, and a Job that has to change, which
// Kubernetes does not allow, becomes another one.
func RenderHook(values Values) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	if err := yaml.UnmarshalStrict(manifests.UninstallJobYAML, job); err != nil {
		return nil, fmt.Errorf("decode embedded %T: %w", job, err)
	}
	job.Namespace = values.InstallNamespace
	setPod(&job.Spec.Template.Spec, values)
	if values.Hosted {
		onHosting(job)
	}
	job.Spec.Template.Spec.Containers[0].Args = hookArgs(values)
	content, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("encode Job %s: %w", job.Name, err)
	}
	hash := fnv.New32a()
	// A hash never fails to be written.
	_, _ = hash.Write(content)
	job.Name = fmt.Sprintf("%s-%08x", manifests.UninstallJob, hash.Sum32())
	return job, nil
}

func hookArgs(values Values) []string {
	args := []string{
		argument(manifests.FlagClusterName, values.ClusterName),
		argument(manifests.FlagNamespace, values.InstallNamespace),
		argument(manifests.FlagHubKubeconfigSecret, manifests.HubKubeconfigSecret),
		argument(manifests.FlagAddOnUID, string(values.AddOnUID)),
	}
	if values.Hosted {
		args = append(args, hostedArgs(values)...)
	} else {
		args = append(args, argument(manifests.FlagJobName, "$(JOB_NAME)"), argument(manifests.FlagJobUID, "$(JOB_UID)"))
	}
	if values.LogVerbosity != "" {
		args = append(args, argument(manifests.FlagVerbosity, values.LogVerbosity))
	}
	return args
}

// hookOnly returns the values for the hook of an add-on that is being deleted and
// whose agent is not shipped any more, for example because its ManifestWork was
// deleted by hand. Its copies are in the namespace that the status has, also where
// this version would refuse it: otherwise the add-on could never be deleted.
func hookOnly(addon *addonv1beta1.ManagedClusterAddOn, config *addonv1beta1.AddOnDeploymentConfig, image string) (Values, error) {
	place := Place{HostingCluster: HostingCluster(addon), Namespace: addon.Status.Namespace}
	if place.Namespace == "" {
		wanted, err := WantedPlace(addon, config)
		if err != nil {
			return Values{}, err
		}
		place = wanted
	}
	// In hosted mode the status, which the managed cluster can write, must not
	// choose a namespace of the hosting cluster.
	if place.HostingCluster != "" {
		if err := checkHostedNamespace(addon, place.Namespace); err != nil {
			return Values{}, err
		}
	}
	return NewValues(addon, place, config, image)
}
