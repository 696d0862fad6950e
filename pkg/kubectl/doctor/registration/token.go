package registration

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// claims are those of a ServiceAccount's token that OCM reads. See
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/register/token/token_validation.go
type claims struct {
	Expires    int64 `json:"exp"`
	Issued     int64 `json:"iat"`
	Kubernetes struct {
		ServiceAccount struct {
			UID string `json:"uid"`
		} `json:"serviceaccount"`
	} `json:"kubernetes.io"`
}

func (c claims) expires() time.Time { return time.Unix(c.Expires, 0) }

func (c claims) issued() time.Time { return time.Unix(c.Issued, 0) }

// parseToken returns the claims of a JSON Web Token, or what is wrong with it.
func parseToken(token []byte) (claims, string) {
	var c claims
	parts := strings.Split(string(token), ".")
	if len(parts) != 3 {
		return c, "is no JSON Web Token"
	}
	payload := parts[1]
	if over := len(payload) % 4; over > 0 {
		payload += strings.Repeat("=", 4-over)
	}
	raw, err := base64.URLEncoding.DecodeString(payload)
	if err != nil {
		return c, "is no JSON Web Token"
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, "has no claims"
	}
	switch {
	case c.Expires == 0:
		return c, "has no time of expiry (claim exp)"
	case c.Issued == 0:
		return c, "has no time of issue (claim iat)"
	default:
		return c, ""
	}
}
