package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/rollout/plan"
)

const (
	// requestTimeout bounds one request.
	requestTimeout = 30 * time.Second
	resource       = "configmapreplicasets"
)

var (
	groupName = v1alpha1.GroupVersion.Group
	// errNotServed is the answer of a hub without ConfigMapReplicaSets.
	errNotServed = errors.New("this hub does not serve ConfigMapReplicaSets: their controller is optional, see docs/install.md#distribution")
)

// session is one run of a command.
type session struct {
	options
	namespace string
	kube      kubernetes.Interface
	sets      *setClient
	out, err  io.Writer
}

// setClient is the client of the ConfigMapReplicaSets of one namespace.
type setClient = gentype.ClientWithList[*v1alpha1.ConfigMapReplicaSet, *v1alpha1.ConfigMapReplicaSetList]

func newSession(o options, command *cobra.Command) (*session, error) {
	namespace, _, err := o.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the namespace of the kubeconfig: %w", err)
	}
	config, err := o.config.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server limits clients, too
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the add-on's API: %w", err)
	}
	own := rest.CopyConfig(config)
	own.APIPath, own.GroupVersion = "/apis", &v1alpha1.GroupVersion
	own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(own)
	if err != nil {
		return nil, fmt.Errorf("create a client of the hub: %w", err)
	}
	// As the controller does: JSON would replace what is not UTF-8 in the data of a ConfigMap, and so change its hash.
	binary := rest.CopyConfig(config)
	binary.ContentType, binary.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	kube, err := kubernetes.NewForConfig(binary)
	if err != nil {
		return nil, fmt.Errorf("create a client of the hub: %w", err)
	}
	sets := gentype.NewClientWithList(resource, rest.Interface(client), runtime.NewParameterCodec(scheme), namespace,
		func() *v1alpha1.ConfigMapReplicaSet { return &v1alpha1.ConfigMapReplicaSet{} },
		func() *v1alpha1.ConfigMapReplicaSetList { return &v1alpha1.ConfigMapReplicaSetList{} })
	return &session{options: o, namespace: namespace, kube: kube, sets: sets, out: command.OutOrStdout(), err: command.ErrOrStderr()}, nil
}

// set returns the set.
func (s *session) set(ctx context.Context, name string) (*v1alpha1.ConfigMapReplicaSet, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	set, err := s.sets.Get(ctx, name, metav1.GetOptions{})
	switch {
	// A path that no API serves is answered with a text, an object that does not exist with a Status.
	case apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return nil, errNotServed
	case err != nil:
		return nil, fmt.Errorf("get ConfigMapReplicaSet %s/%s: %w", s.namespace, name, err)
	}
	return set, nil
}

// allSets returns the sets of the namespace.
func (s *session) allSets(ctx context.Context) ([]v1alpha1.ConfigMapReplicaSet, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := s.sets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the ConfigMapReplicaSets of namespace %s: %w", s.namespace, err)
	}
	return list.Items, nil
}

// patch merges a part of the spec into a set, unless it was deleted and created again, or has another version than this
// one, if that is not empty.
func (s *session) patch(ctx context.Context, set *v1alpha1.ConfigMapReplicaSet, version string, spec map[string]any, dryRun ...string) error {
	metadata := map[string]any{"uid": set.UID}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
	if err != nil {
		return fmt.Errorf("encode a patch of ConfigMapReplicaSet %s/%s: %w", s.namespace, set.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err = s.sets.Patch(ctx, set.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: plan.FieldManager, DryRun: dryRun})
	if err != nil {
		return fmt.Errorf("patch ConfigMapReplicaSet %s/%s: %w", s.namespace, set.Name, err)
	}
	return nil
}

// source returns a ConfigMap of the namespace, or nil if it does not exist.
func (s *session) source(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	source, err := s.kube.CoreV1().ConfigMaps(s.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get ConfigMap %s/%s: %w", s.namespace, name, err)
	}
	return source, nil
}

// sources returns the ConfigMaps of these names that exist.
func (s *session) sources(ctx context.Context, names []string) (plan.Sources, error) {
	sources := plan.Sources{}
	for _, name := range names {
		source, err := s.source(ctx, name)
		if err != nil {
			return nil, err
		}
		if source != nil {
			sources[name] = source
		}
	}
	return sources, nil
}

// history returns the kept revisions of a set.
func (s *session) history(ctx context.Context, set *v1alpha1.ConfigMapReplicaSet) ([]plan.Revision, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stored, err := s.kube.AppsV1().ControllerRevisions(s.namespace).List(ctx,
		metav1.ListOptions{LabelSelector: manifests.ReplicaSetUIDLabel + "=" + string(set.UID)})
	if err != nil {
		return nil, fmt.Errorf("list the ControllerRevisions of ConfigMapReplicaSet %s/%s: %w", s.namespace, set.Name, err)
	}
	// the items of a list have no kind
	for i := range stored.Items {
		stored.Items[i].SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevision"))
	}
	return plan.NewHistory(set, stored.Items), nil
}
