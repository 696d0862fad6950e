//go:build e2e && shortlife

package lease

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestRotationByOCM is the rotation as it happens: OCM's registration agent
// renews a certificate before it expires. The hub has to sign certificates of a
// short life, which the caller sees to (ocm-sandbox up --certificate-life=2m).
func TestRotationByOCM(t *testing.T) {
	env := loadEnvironment(t)
	c := env.clusters[0]
	renewals := follow(t, env.hub, c.name, example)
	eventually(t, "renewals before", renewals.renewsAfter(time.Time{}))
	before, err := c.pod(t.Context())
	must(t, "get the example's pod", err)
	start := time.Now()
	for range 2 {
		c.awaitRotation(t)
		rotated := time.Now()
		eventually(t, "renewals after", renewals.renewsAfter(rotated))
	}
	log := c.logs(t, example, before.Name)
	if strings.Contains(log, "Failed to renew") {
		t.Error("a renewal failed: " + log)
	}
	renewals.wantGap(t, "two rotations by OCM", start, 0)
	after, err := c.pod(t.Context())
	must(t, "get the example's pod", err)
	sameSidecar(t, before, after)
}

// awaitRotation waits for another certificate in the secret. The registration
// agent looks at it when it changes, or every 5 minutes, which is too seldom for
// a life of 2: so it is touched.
func (c *cluster) awaitRotation(t *testing.T) {
	t.Helper()
	secrets := c.kube.CoreV1().Secrets(example)
	old, err := secrets.Get(t.Context(), exampleSecret, metav1.GetOptions{})
	must(t, "get the secret", err)
	start := time.Now()
	touched := start
	eventually(t, "another certificate", func(ctx context.Context) error {
		secret, err := secrets.Get(ctx, exampleSecret, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !bytes.Equal(secret.Data["tls.crt"], old.Data["tls.crt"]) {
			return nil
		}
		if time.Since(touched) > 5*time.Second {
			touched = time.Now()
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"e2e-touched":%q}}}`, touched)
			if _, err := secrets.Patch(ctx, exampleSecret, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				return err
			}
		}
		return errNotYet
	})
	t.Logf("rotated after %s", time.Since(start).Round(time.Second))
}
