package report

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of the ManagedClusterAddOn that OCM's registration agent writes when it gets new credentials for the
// agent, a client certificate or a token. Only their messages tell when the credentials expire.
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/csr/csr.go
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/token/token.go
const (
	CertificateRotated = "ClusterCertificateRotated"
	TokenRefreshed     = "TokenRefreshed"
)

// goTime is how Go's time.Time prints itself.
const goTime = "2006-01-02 15:04:05.999999999 -0700 MST"

// Expiry returns when the agent's credentials for the hub expire, or nil if the conditions do not tell. A cluster
// whose driver was changed has both conditions: the later one counts.
func Expiry(conditions []metav1.Condition) *metav1.Time {
	certificate := expiryIn(conditions, CertificateRotated, goTime, " to ")
	token := expiryIn(conditions, TokenRefreshed, time.RFC3339, "expires at ")
	if certificate == nil || token != nil && written(conditions, CertificateRotated).Before(written(conditions, TokenRefreshed)) {
		return token
	}
	return certificate
}

// expiryIn returns the time after sign in the message of the condition, if that is True.
func expiryIn(conditions []metav1.Condition, kind, layout, sign string) *metav1.Time {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	_, text, _ := strings.Cut(c.Message, sign)
	t, err := time.Parse(layout, text)
	if err != nil {
		return nil
	}
	expires := metav1.NewTime(t)
	return &expires
}

func written(conditions []metav1.Condition, kind string) *metav1.Time {
	return &meta.FindStatusCondition(conditions, kind).LastTransitionTime
}
