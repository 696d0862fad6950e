//go:build kind

package pods

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
)

// wrongPassword is the password of no user.
const wrongPassword = "wr0ng/p@ss:w%rd"

// secretsWrong gives both programs secrets with which they cannot reach the database: the pod's log says what is wrong,
// and what to do, without the password. The pod of before, with the good secret, goes on meanwhile.
func secretsWrong(t *testing.T, w *world) {
	other, err := postgrestest.NewCertificate(w.address)
	must(t, "make another authority", err)
	good := w.database.Authority()
	withPassword := func(text string) string {
		return change(t, text, func(u *url.URL, _ url.Values) { u.User = url.UserPassword(u.User.Username(), wrongPassword) })
	}
	cases := []struct {
		name      string
		url       func(good string) string
		authority []byte
		want      []string
	}{
		{"a wrong password", withPassword, good, []string{"password authentication failed", "the password has to be URL-escaped"}},
		{"a password that is not escaped", func(text string) string {
			return strings.Replace(withPassword(text), url.UserPassword("", wrongPassword).String(), ":"+wrongPassword, 1)
		}, good, []string{"DATABASE_URL", "the password has to be URL-escaped"}},
		{"another authority", same, other.Authority, []string{"certificate signed by unknown authority", "sslrootcert in the URL has to name"}},
		{"no authority", same, nil, []string{authorityInPod, "sslrootcert in the URL has to name"}},
		{"an authority that the URL does not name", func(text string) string {
			return change(t, text, func(_ *url.URL, query url.Values) { query.Del("sslrootcert") })
		}, good, []string{"certificate signed by unknown authority", "sslrootcert in the URL has to name"}},
		{"not encrypted", func(text string) string {
			return change(t, text, func(_ *url.URL, query url.Values) { query.Set("sslmode", "disable") })
		}, good, []string{"no encryption"}},
	}
	stable := map[*hub]string{}
	for _, h := range w.hubs() {
		stable[h] = podOf(t, h).Name
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			known := w.logs.pods()
			for _, h := range w.hubs() {
				w.setSecrets(t, h, c.url(w.urls[h]), c.authority)
				kubectl(t, h, "rollout", "restart", "deployment/"+h.program, "-n", ownNamespace)
			}
			for _, h := range w.hubs() {
				start := time.Now()
				var pod, line string
				seen(t, start, h.program+" says what is wrong", func(context.Context) error {
					pod, line = w.newPodSays(h, known, c.want)
					if pod == "" {
						return fmt.Errorf("no new pod says %q", c.want)
					}
					return nil
				})
				t.Logf("          %s", line)
				must(t, h.program, goesOn(t.Context(), h, stable[h], pod))
			}
			w.flip(t, "the pods of before go on")
		})
	}
	for _, h := range w.hubs() {
		w.setSecrets(t, h, w.urls[h], good)
		kubectl(t, h, "rollout", "restart", "deployment/"+h.program, "-n", ownNamespace)
	}
	for _, h := range w.hubs() {
		rolledOut(t, h)
	}
	w.flip(t, "with the good secrets again")
}

func same(text string) string { return text }

// newPodSays looks for a pod of a program that was not known before, and a line of its log with all of these texts.
func (w *world) newPodSays(h *hub, known, want []string) (pod, line string) {
	for _, pod := range w.logs.pods() {
		if !strings.HasPrefix(pod, h.program) || slices.Contains(known, pod) {
			continue
		}
		for line := range strings.Lines(w.logs.of(pod)) {
			if !slices.ContainsFunc(want, func(text string) bool { return !strings.Contains(line, text) }) {
				return pod, strings.TrimSpace(line)
			}
		}
	}
	return "", ""
}

// goesOn is nil when the good pod is ready and the bad one is not.
func goesOn(ctx context.Context, h *hub, good, bad string) error {
	all, err := pods(ctx, h)
	if err != nil {
		return err
	}
	found := false
	for i := range all {
		found = found || all[i].Name == good && ready(&all[i])
		if all[i].Name == bad && ready(&all[i]) {
			return errors.New("a pod that cannot reach the database is ready")
		}
	}
	if !found {
		return fmt.Errorf("pod %s of before is not there, or not ready", good)
	}
	return nil
}
