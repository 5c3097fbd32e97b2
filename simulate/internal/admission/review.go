// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Review returns the body of the request of a call.
func Review(a *Attributes, uid types.UID) ([]byte, error) {
	name := a.Name
	if a.Object != nil {
		name = a.Object.GetName() // that of a create
	}
	kind, resource := metav1.GroupVersionKind(a.Kind), metav1.GroupVersionResource(a.Resource)
	request := &admissionv1.AdmissionRequest{
		UID: uid, Kind: kind, Resource: resource, SubResource: a.Subresource,
		RequestKind: &kind, RequestResource: &resource, RequestSubResource: a.Subresource,
		Name: name, Namespace: a.Namespace, Operation: admissionv1.Operation(a.Operation),
		UserInfo: authenticationv1.UserInfo{Username: a.User}, DryRun: &a.DryRun,
	}
	var err error
	if request.Object.Raw, err = encode(a.Object); err != nil {
		return nil, err
	}
	if request.OldObject.Raw, err = encode(a.OldObject); err != nil {
		return nil, err
	}
	if request.Options.Raw, err = json.Marshal(a.options()); err != nil {
		return nil, err
	}
	return json.Marshal(admissionv1.AdmissionReview{TypeMeta: reviewType, Request: request})
}

// options returns the options of the write.
func (a *Attributes) options() map[string]any {
	kinds := map[string]string{"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
	options := map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": kinds[string(a.Operation)]}
	if a.DryRun {
		options["dryRun"] = []string{metav1.DryRunAll}
	}
	return options
}

func encode(obj *unstructured.Unstructured) ([]byte, error) {
	if obj == nil {
		return nil, nil
	}
	return obj.MarshalJSON()
}

var reviewType = metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}

// CallError is the failure of a call. failurePolicy decides whether the write fails.
type CallError struct {
	webhook string
	cause   error
}

// Error returns the message of kube-apiserver.
func (e *CallError) Error() string {
	return fmt.Sprintf("failed calling webhook %q: %v", e.webhook, e.cause)
}

// Fail returns the failure of a call that has no response.
func (w *Webhook) Fail(cause error) *CallError {
	cause = fmt.Errorf("failed to call webhook: Post %q: %w", w.URL(), cause)
	return &CallError{webhook: w.Name, cause: cause}
}

// URL returns the URL of a call.
func (w *Webhook) URL() string {
	return fmt.Sprintf("https://%s%s?timeout=%v", w.Service, w.Path, w.Timeout)
}

// Apply takes the response of a call into account: it changes a.Object by the patch, and reports
// whether there is one. The error is a *CallError, or the answer to the write.
func (w *Webhook) Apply(a *Attributes, uid types.UID, code int, body []byte) (changed bool, err error) {
	if code != http.StatusOK {
		cause := apierrors.NewGenericServerResponse(code, "POST", a.Resource.GroupResource(), "", string(body), 0, false)
		return false, &CallError{webhook: w.Name, cause: fmt.Errorf("failed to call webhook: %w", cause)}
	}
	response, err := w.verify(uid, body)
	if err != nil {
		return false, &CallError{webhook: w.Name, cause: fmt.Errorf("received invalid webhook response: %w", err)}
	}
	switch {
	case !response.Allowed:
		return false, w.denial(response.Result)
	case len(response.Patch) == 0:
		return false, nil
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	switch {
	case err != nil:
		return false, &CallError{webhook: w.Name, cause: fmt.Errorf("received undecodable patch in webhook response: %w", err)}
	case len(patch) == 0:
		return false, nil
	case a.Object == nil:
		return false, apierrors.NewInternalError(
			fmt.Errorf("admission webhook %q attempted to modify the object, which is not supported for this operation", w.Name))
	}
	patched, err := apply(patch, a.Object)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	a.Object = patched
	return true, nil
}

func apply(patch jsonpatch.Patch, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	before, err := obj.MarshalJSON()
	if err != nil {
		return nil, err
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, err
	}
	patched := &unstructured.Unstructured{}
	return patched, runtime.DecodeInto(unstructured.UnstructuredJSONScheme, after, patched)
}

var (
	errNoResponse  = errors.New("webhook response was absent")
	errNoPatchType = errors.New("webhook returned response.patch but not response.patchType")
	errNoPatch     = errors.New("webhook returned response.patchType but not response.patch")
	errPatch       = errors.New("validating webhook may not return response.patch")
	errPatchType   = errors.New("validating webhook may not return response.patchType")
)

// verify returns the response in a body that is the AdmissionReview of a call.
func (w *Webhook) verify(uid types.UID, body []byte) (*admissionv1.AdmissionResponse, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, err
	}
	response := review.Response
	switch {
	case response == nil:
		return nil, errNoResponse
	case response.UID != uid:
		return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, response.UID)
	case review.TypeMeta != reviewType:
		return nil, fmt.Errorf("expected webhook response of %v, got %v", reviewType.GroupVersionKind(), review.GroupVersionKind())
	case !w.Mutating && len(response.Patch) > 0:
		return nil, errPatch
	case !w.Mutating && response.PatchType != nil:
		return nil, errPatchType
	case len(response.Patch) == 0 && response.PatchType != nil:
		return nil, errNoPatch
	case len(response.Patch) == 0:
		return response, nil
	case response.PatchType == nil:
		return nil, errNoPatchType
	case *response.PatchType != admissionv1.PatchTypeJSONPatch:
		return nil, fmt.Errorf("invalid webhook response.patchType of %q", *response.PatchType)
	}
	return response, nil
}

// denial returns the answer to a write that the webhook does not allow.
func (w *Webhook) denial(result *metav1.Status) error {
	status := metav1.Status{}
	if result != nil {
		status = *result
	}
	if status.Code < http.StatusBadRequest {
		status.Code = http.StatusBadRequest
	}
	status.Status = metav1.StatusFailure
	deniedBy := fmt.Sprintf("admission webhook %q denied the request", w.Name)
	switch {
	case status.Message != "":
		status.Message = deniedBy + ": " + status.Message
	case status.Reason != "":
		status.Message = deniedBy + ": " + string(status.Reason)
	default:
		status.Message = deniedBy + " without explanation"
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// DryRunError returns the answer to a dry run that the webhook does not support.
func (w *Webhook) DryRunError() error {
	return apierrors.NewBadRequest(fmt.Sprintf("admission webhook %q does not support dry run", w.Name))
}
