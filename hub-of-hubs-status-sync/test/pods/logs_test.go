//go:build kind

package pods

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/internal/postgrestest"
)

// logs are everything that every container of the programs has said, also of pods that are gone.
type logs struct {
	mu    sync.Mutex
	byPod map[string]*bytes.Buffer
	seen  map[string]bool
}

// followLogs follows the logs until the test ends.
func followLogs(t *testing.T, hubs []*hub) *logs {
	t.Helper()
	l := &logs{byPod: map[string]*bytes.Buffer{}, seen: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	for _, h := range hubs {
		group.Go(func() { l.follow(ctx, &group, h) })
	}
	return l
}

// follow looks for containers that have not been seen. One that cannot be asked now is asked again.
func (l *logs) follow(ctx context.Context, group *sync.WaitGroup, h *hub) {
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for {
		all, _ := pods(ctx, h)
		for _, pod := range all {
			for _, container := range pod.Status.ContainerStatuses {
				if container.ContainerID != "" && l.first(container.ContainerID) {
					group.Go(func() { l.copy(ctx, h, pod.Name, container) })
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (l *logs) first(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	again := l.seen[id]
	l.seen[id] = true
	return !again
}

func (l *logs) copy(ctx context.Context, h *hub, pod string, container corev1.ContainerStatus) {
	stream, err := h.kube.CoreV1().Pods(ownNamespace).GetLogs(pod, &corev1.PodLogOptions{Container: container.Name, Follow: true}).Stream(ctx)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.seen, container.ContainerID)
		return
	}
	defer stream.Close()
	_, _ = io.Copy(writer{l, pod}, stream)
}

type writer struct {
	logs *logs
	pod  string
}

func (w writer) Write(text []byte) (int, error) {
	w.logs.mu.Lock()
	defer w.logs.mu.Unlock()
	if w.logs.byPod[w.pod] == nil {
		w.logs.byPod[w.pod] = &bytes.Buffer{}
	}
	return w.logs.byPod[w.pod].Write(text)
}

// of is what a pod has said.
func (l *logs) of(pod string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byPod[pod] == nil {
		return ""
	}
	return l.byPod[pod].String()
}

func (l *logs) pods() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for pod := range l.byPod {
		names = append(names, pod)
	}
	return names
}

// lastLines are the end of a text.
func lastLines(text string) string {
	const count = 15
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

// explain prints how the programs stand when a test has failed.
func (w *world) explain(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	for _, h := range w.hubs() {
		for _, kind := range []string{"pods", "events"} {
			text, err := h.run(ctx, "", "get", kind, "-n", ownNamespace, "--sort-by=.metadata.creationTimestamp")
			t.Logf("%s: %v\n%s", h.name, err, lastLines(text))
		}
		all, err := pods(ctx, h)
		for i := range all {
			t.Logf("%s: the end of its log:\n%s", all[i].Name, lastLines(w.logs.of(all[i].Name)))
		}
		if err != nil {
			t.Log(err)
		}
	}
}

// passwords are those that pods were given, in every form that a text may have them.
func passwords() []string {
	var forms []string
	for _, password := range []string{postgrestest.Password, wrongPassword} {
		_, inURL, _ := strings.Cut(url.UserPassword("u", password).String(), ":")
		forms = append(forms, password, inURL, url.QueryEscape(password), url.PathEscape(password))
	}
	return forms
}

// passwordHidden looks for the passwords in everything that others may read, but for the secret.
func passwordHidden(t *testing.T, w *world) {
	w.logsAreClean(t)
	for _, h := range w.hubs() {
		text := kubectl(t, h, "get", "events,pods,deployments,configmaps,leases", "-n", ownNamespace, "-o", "json")
		for _, form := range passwords() {
			if strings.Contains(text, form) || strings.Contains(text, strings.ReplaceAll(form, "&", `\u0026`)) {
				t.Errorf("an object on %s shows the password as %q", h.name, form)
			}
		}
	}
}

// logsAreClean looks for the passwords in the logs.
func (w *world) logsAreClean(t *testing.T) {
	t.Helper()
	started := map[string]int{}
	for _, pod := range w.logs.pods() {
		text := w.logs.of(pod)
		for _, form := range passwords() {
			if strings.Contains(text, form) {
				t.Errorf("the log of %s shows the password as %q", pod, form)
			}
		}
		for _, h := range w.hubs() {
			if strings.Contains(text, "Starting "+h.program) {
				started[h.program]++
			}
		}
	}
	t.Logf("logs of pods that were read: %v", started)
	if started[syncProgram] < 2 || started[reportProgram] < 2 {
		t.Error("the logs do not say that the programs started: they show nothing")
	}
}
