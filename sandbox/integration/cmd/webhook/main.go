// Command webhook is an admission webhook for the tests. It denies every request and serves with the
// certificate of the Secret that is mounted at /certs.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func main() {
	server := &http.Server{Addr: ":8443", Handler: http.HandlerFunc(deny), ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintln(os.Stderr, "error:", server.ListenAndServeTLS("/certs/tls.crt", "/certs/tls.key"))
	os.Exit(1)
}

func deny(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, fmt.Sprintf("not an AdmissionReview: %v", err), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "denied in a pod"}}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}
