package floor

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
)

type configMaps = gentype.ClientWithList[*corev1.ConfigMap, *corev1.ConfigMapList]

// apiTypes is what the clients know of the API types: one API group, because all of them
// would make the floor's program and memory larger than the work needs.
type apiTypes struct {
	codecs     serializer.CodecFactory
	parameters runtime.ParameterCodec
}

var knownTypes = sync.OnceValues(func() (apiTypes, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return apiTypes{}, fmt.Errorf("register API types: %w", err)
	}
	return apiTypes{codecs: serializer.NewCodecFactory(scheme), parameters: runtime.NewParameterCodec(scheme)}, nil
})

// client returns a client for the ConfigMaps of a namespace, without a limit of its own.
func client(config *rest.Config, namespace string) (*configMaps, error) {
	known, err := knownTypes()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.APIPath = "/api"
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = known.codecs.WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	restClient, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	return gentype.NewClientWithList("configmaps", restClient, known.parameters, namespace,
		func() *corev1.ConfigMap { return &corev1.ConfigMap{} },
		func() *corev1.ConfigMapList { return &corev1.ConfigMapList{} }), nil
}
