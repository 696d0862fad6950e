package replicaset

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/manifests"
)

// clients are the clients of the hub.
type clients struct {
	kube     kubernetes.Interface
	cluster  clusterclient.Interface
	metadata metadata.Interface
	// own is the client of the add-on's own API.
	own   rest.Interface
	codec runtime.ParameterCodec
}

func newClients(config *rest.Config) (*clients, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the add-on's API: %w", err)
	}
	var errs [4]error
	c := clients{codec: runtime.NewParameterCodec(scheme)}
	// JSON would be written with each < and > of a ConfigMap in six bytes.
	binary := rest.CopyConfig(config)
	binary.ContentType, binary.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	c.kube, errs[0] = kubernetes.NewForConfig(binary)
	c.cluster, errs[1] = clusterclient.NewForConfig(config)
	c.metadata, errs[2] = metadata.NewForConfig(config)
	own := rest.CopyConfig(config)
	own.APIPath, own.GroupVersion = "/apis", &v1alpha1.GroupVersion
	own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.own, errs[3] = rest.RESTClientFor(own)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("create the clients of the hub: %w", err)
	}
	return &c, nil
}

// setClient is the client of the ConfigMapReplicaSets of one namespace.
type setClient = gentype.ClientWithList[*v1alpha1.ConfigMapReplicaSet, *v1alpha1.ConfigMapReplicaSetList]

func (c *clients) sets(namespace string) *setClient {
	return gentype.NewClientWithList("configmapreplicasets", c.own, c.codec, namespace,
		func() *v1alpha1.ConfigMapReplicaSet { return &v1alpha1.ConfigMapReplicaSet{} },
		func() *v1alpha1.ConfigMapReplicaSetList { return &v1alpha1.ConfigMapReplicaSetList{} })
}

// mirrorClient is the client of the ConfigMapMirrors of one namespace.
type mirrorClient = gentype.ClientWithList[*v1alpha1.ConfigMapMirror, *v1alpha1.ConfigMapMirrorList]

func (c *clients) mirrors(namespace string) *mirrorClient {
	return gentype.NewClientWithList("configmapmirrors", c.own, c.codec, namespace,
		func() *v1alpha1.ConfigMapMirror { return &v1alpha1.ConfigMapMirror{} },
		func() *v1alpha1.ConfigMapMirrorList { return &v1alpha1.ConfigMapMirrorList{} })
}

// enabled reports whether the add-on is enabled on a cluster, by the API server.
func (c *clients) enabled(ctx context.Context, cluster string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	addOn, err := c.metadata.Resource(addOnResource).Namespace(cluster).Get(ctx, manifests.AddonName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get ManagedClusterAddOn %s/%s: %w", cluster, manifests.AddonName, err)
	}
	return addOn.DeletionTimestamp == nil, nil
}
