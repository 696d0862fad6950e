package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TokenRequest is a projected volume's request for a service account token.
type TokenRequest struct {
	Audience string
	// Seconds is the requested lifetime.
	Seconds int64
}

// Token is a token from the API server.
type Token struct {
	Value           string
	Issued, Expires time.Time
}

// tokenMaxAge is the age at which a token is renewed, whatever its lifetime. It is
// kubelet's:
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/kubelet/token/token_manager.go
const tokenMaxAge = 24 * time.Hour

// RefreshAt returns the time of a token's renewal: after 80 % of its life or after a
// day, whichever comes first.
func (t Token) RefreshAt() time.Time {
	life := t.Expires.Sub(t.Issued)
	return t.Issued.Add(min(life*8/10, tokenMaxAge))
}

// TokenRequests returns the distinct token requests of a pod's volumes, sorted.
func TokenRequests(spec *corev1.PodSpec) []TokenRequest {
	var out []TokenRequest
	for _, v := range spec.Volumes {
		for _, source := range projections(v) {
			if source.ServiceAccountToken != nil {
				out = append(out, requestOf(source.ServiceAccountToken))
			}
		}
	}
	slices.SortFunc(out, func(a, b TokenRequest) int {
		if a.Audience != b.Audience {
			if a.Audience < b.Audience {
				return -1
			}
			return 1
		}
		return int(a.Seconds - b.Seconds)
	})
	return slices.Compact(out)
}

// requestOf converts a projection; Kubernetes' default lifetime is an hour.
func requestOf(p *corev1.ServiceAccountTokenProjection) TokenRequest {
	r := TokenRequest{Audience: p.Audience, Seconds: 3600}
	if p.ExpirationSeconds != nil {
		r.Seconds = *p.ExpirationSeconds
	}
	return r
}
