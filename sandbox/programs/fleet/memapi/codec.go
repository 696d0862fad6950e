package memapi

import (
	"fmt"
	"mime"
	"net/http"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/json"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// knownTypes has the types of which bodies in protobuf and strategic merge patches are
// understood: those of Kubernetes.
var (
	knownTypes = newTypes()
	bodies     = serializer.NewCodecFactory(knownTypes).UniversalDeserializer()
)

func newTypes() *runtime.Scheme {
	all := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(all))
	utilruntime.Must(apiextensionsv1.AddToScheme(all))
	return all
}

// mediaType returns a content type without its parameters.
func mediaType(header string) string {
	if media, _, err := mime.ParseMediaType(header); err == nil {
		return media
	}
	return header
}

// manager returns the name of the field manager of a request.
func manager(r *request) string {
	if name := r.query.Get("fieldManager"); name != "" {
		return name
	}
	agent, _, _ := strings.Cut(r.header.Get("User-Agent"), "/")
	if agent == "" {
		return "unknown"
	}
	return agent
}

// decodeBody returns the object that the body of a request has, in JSON, YAML or
// protobuf. Protobuf is understood for the kinds of Kubernetes only, as on an API server.
func decodeBody(k *kind, r *request) (*unstructured.Unstructured, error) {
	body := r.body
	switch media := mediaType(r.header.Get("Content-Type")); media {
	case "", runtime.ContentTypeJSON:
	case runtime.ContentTypeYAML:
		converted, err := yaml.YAMLToJSON(body)
		if err != nil {
			return nil, badBody(k, err)
		}
		body = converted
	case runtime.ContentTypeProtobuf:
		obj, gvk, err := bodies.Decode(body, nil, nil)
		if err != nil {
			return nil, badBody(k, err)
		}
		obj.GetObjectKind().SetGroupVersionKind(*gvk)
		if body, err = json.Marshal(obj); err != nil {
			return nil, badBody(k, err)
		}
	default:
		return nil, unsupported(media)
	}
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &obj.Object); err != nil {
		return nil, badBody(k, err)
	}
	if obj.Object == nil {
		return nil, badBody(k, fmt.Errorf("the body is empty"))
	}
	if err := normalize(obj); err != nil {
		return nil, badBody(k, err)
	}
	return obj, nil
}

// normalize checks the metadata, and leaves out what is empty or unknown in it, as an API
// server does.
func normalize(obj *unstructured.Unstructured) error {
	var typed struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	given := map[string]any{"metadata": obj.Object["metadata"]}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(given, &typed); err != nil {
		return err
	}
	metadata, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed.Metadata)
	if err != nil {
		return err
	}
	obj.Object["metadata"] = metadata
	return nil
}

func badBody(k *kind, err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized as %s: %s", k.name, err))
}

func unsupported(media string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: fmt.Sprintf("the body of the request was in an unknown format: %s", media)}}
}

// decodeDelete returns the options of a deletion, which are in the body or in the query.
func decodeDelete(r *request) (metav1.DeleteOptions, error) {
	var o metav1.DeleteOptions
	switch {
	case len(r.body) == 0:
	case mediaType(r.header.Get("Content-Type")) == runtime.ContentTypeProtobuf:
		obj, _, err := bodies.Decode(r.body, nil, &o)
		if decoded, ok := obj.(*metav1.DeleteOptions); err != nil || !ok {
			return o, apierrors.NewBadRequest(fmt.Sprintf("the options of the deletion cannot be read: %v", err))
		} else if decoded != &o {
			o = *decoded
		}
	default:
		if err := yaml.Unmarshal(r.body, &o); err != nil {
			return o, apierrors.NewBadRequest(fmt.Sprintf("the options of the deletion cannot be read: %s", err))
		}
	}
	if policy := metav1.DeletionPropagation(r.query.Get("propagationPolicy")); policy != "" {
		o.PropagationPolicy = &policy
	}
	if r.query.Get("dryRun") != "" {
		o.DryRun = []string{metav1.DryRunAll}
	}
	return o, nil
}
