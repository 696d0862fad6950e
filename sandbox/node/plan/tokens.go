package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TokenRequest is a service account token as a projected volume asks for it.
type TokenRequest struct {
	Audience string
	// Seconds is the lifetime asked for.
	Seconds int64
}

// Token is a token that the API server gave.
type Token struct {
	Value           string
	Issued, Expires time.Time
}

// tokenMaxAge is kubelet's: a token is replaced when it is a day old, however
// long it is good for.
const tokenMaxAge = 24 * time.Hour

// RefreshAt is when a token is replaced: after 80 % of its life or a day,
// kubelet's rule.
func (t Token) RefreshAt() time.Time {
	life := t.Expires.Sub(t.Issued)
	return t.Issued.Add(min(life*8/10, tokenMaxAge))
}

// TokenRequests are the tokens that a pod's volumes need, sorted, each once.
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

// requestOf reads a projection; an hour is Kubernetes' default.
func requestOf(p *corev1.ServiceAccountTokenProjection) TokenRequest {
	r := TokenRequest{Audience: p.Audience, Seconds: 3600}
	if p.ExpirationSeconds != nil {
		r.Seconds = *p.ExpirationSeconds
	}
	return r
}
