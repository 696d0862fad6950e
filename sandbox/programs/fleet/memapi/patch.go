package memapi

import (
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// patched returns the object that a patch makes of the stored one.
func patched(k *kind, old *entry, r *request) (*unstructured.Unstructured, error) {
	current := old.in(k)
	data, err := patch(k, current, r)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &obj.Object); err != nil {
		return nil, badBody(k, err)
	}
	if err := normalize(obj); err != nil {
		return nil, badBody(k, err)
	}
	return obj, nil
}

func patch(k *kind, current []byte, r *request) ([]byte, error) {
	switch media := mediaType(r.header.Get("Content-Type")); types.PatchType(media) {
	case types.JSONPatchType:
		operations, err := jsonpatch.DecodePatch(r.body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		data, err := operations.Apply(current)
		if err != nil {
			return nil, unprocessable(err)
		}
		return data, nil
	case types.MergePatchType:
		data, err := jsonpatch.MergePatch(current, r.body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return data, nil
	case types.StrategicMergePatchType:
		typed, err := knownTypes.New(k.gvk())
		if err != nil {
			return nil, unsupported(media)
		}
		data, err := strategicpatch.StrategicMergePatch(current, r.body, typed)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return data, nil
	default:
		return nil, unsupported(media)
	}
}

func unprocessable(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("the server rejected our request due to an error in our request: %s", err)}}
}
