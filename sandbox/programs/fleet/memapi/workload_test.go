package memapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
)

func available(d *appsv1.Deployment) corev1.ConditionStatus {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentAvailable {
			return c.Status
		}
	}
	return "none"
}

// summary is a Deployment's status as text.
func summary(d *appsv1.Deployment) string {
	s := d.Status
	return fmt.Sprintf("generation %d replicas %d updated %d ready %d available %d unavailable %d %s",
		s.ObservedGeneration, s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas, available(d))
}

func TestDeployment(t *testing.T) {
	three := int32(3)
	none := int32(0)
	rows := []struct {
		name   string
		create func(d *appsv1.Deployment)
		update func(d *appsv1.Deployment)
		want   string
	}{
		{name: "becomes available", want: "generation 1 replicas 1 updated 1 ready 1 available 1 unavailable 0 True"},
		{name: "with all replicas", create: func(d *appsv1.Deployment) { d.Spec.Replicas = &three },
			want: "generation 1 replicas 3 updated 3 ready 3 available 3 unavailable 0 True"},
		{name: "a broken image never does", create: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "image:broken" },
			want: "generation 1 replicas 1 updated 1 ready 0 available 0 unavailable 1 False"},
		{name: "another image becomes available", update: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "image:2" },
			want: "generation 2 replicas 1 updated 1 ready 1 available 1 unavailable 0 True"},
		{name: "a rolling update to a broken image is stuck beside the last pod",
			update: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "image:broken" },
			want:   "generation 2 replicas 2 updated 1 ready 1 available 1 unavailable 1 True"},
		{name: "recreated with a broken image, nothing is available",
			create: func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType },
			update: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "image:broken" },
			want:   "generation 2 replicas 1 updated 1 ready 0 available 0 unavailable 1 False"},
		{name: "scaled to none", update: func(d *appsv1.Deployment) { d.Spec.Replicas = &none },
			want: "generation 2 replicas 0 updated 0 ready 0 available 0 unavailable 0 True"},
		{name: "scaled while available", update: func(d *appsv1.Deployment) { d.Spec.Replicas = &three },
			want: "generation 2 replicas 3 updated 3 ready 3 available 3 unavailable 0 True"},
	}
	clusters(t, Options{BrokenImage: "broken"}, func(t *testing.T, c *cluster) {
		sets := c.kube.AppsV1().Deployments("default")
		for i, row := range rows {
			d := deployment(fmt.Sprintf("d%d", i), "image:1")
			if row.create != nil {
				row.create(d)
			}
			d, err := sets.Create(t.Context(), d, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if row.update != nil {
				eventually(t, func(ctx context.Context) error {
					d, err = sets.Get(ctx, d.Name, metav1.GetOptions{})
					if err == nil && available(d) != corev1.ConditionTrue {
						err = errors.New("not available before the update")
					}
					return err
				})
				row.update(d)
				if d, err = sets.Update(t.Context(), d, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, func(ctx context.Context) error {
				if d, err = sets.Get(ctx, d.Name, metav1.GetOptions{}); err == nil && summary(d) != row.want {
					err = fmt.Errorf("%s: %s, want %s", row.name, summary(d), row.want)
				}
				return err
			})
		}
		// The broken ones stay as they are: longer than the others need.
		time.Sleep(100 * time.Millisecond)
		d, err := sets.Get(t.Context(), "d2", metav1.GetOptions{})
		if err != nil || summary(d) != rows[2].want {
			t.Errorf("later: %s: %s, %v, want %s", rows[2].name, summary(d), err, rows[2].want)
		}
	})
}

// stream reads a stream of JSON lines of the server.
type stream struct {
	lines *bufio.Scanner
	close func() error
}

// open opens a stream of c's server, which has to be a remote one.
func open(t *testing.T, config *rest.Config, path string) *stream {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*eventTimeout)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base(config)+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("open %s: %s", path, response.Status)
	}
	return &stream{lines: bufio.NewScanner(response.Body), close: response.Body.Close}
}

func base(config *rest.Config) string {
	return strings.TrimSuffix(config.Host, "/clusters/fleet-0001")
}

func (s *stream) next(t *testing.T, into any) {
	t.Helper()
	if !s.lines.Scan() {
		t.Fatalf("the stream ended: %v", s.lines.Err())
	}
	if err := json.Unmarshal(s.lines.Bytes(), into); err != nil {
		t.Fatal(err)
	}
}

// expect reads the next workload and checks its type and name.
func (s *stream) expect(t *testing.T, what, name string) workloadEvent {
	t.Helper()
	var e workloadEvent
	s.next(t, &e)
	if e.Type != what || e.Name != name {
		t.Fatalf("workload: %s %q, want %s %q", e.Type, e.Name, what, name)
	}
	return e
}

func finish(t *testing.T, config *rest.Config, cluster string, pod types.UID, failure string) int {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"error":%q}`, failure)
	response, err := client.Post(fmt.Sprintf("%s/fleet/workloads/%s/%s/done", base(config), cluster, pod), "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}

func TestWorkloadStream(t *testing.T) {
	clusters(t, Options{BrokenImage: "broken"}, func(t *testing.T, c *cluster) {
		config := remote(t, c.server, "fleet-0001")
		sets := c.kube.AppsV1().Deployments("default")
		agent := deployment("agent", "image:1")
		agent.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
		agent.Spec.Template.Spec.ServiceAccountName = "agent-sa"
		agent.Spec.Template.Spec.Containers[0].Args = []string{"--holder=$(POD_NAME)", "--$$(POD_NAME)", "--$(OTHER)"}
		agent.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{
			{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
			{Name: "POD_UID", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.uid"}}},
			{Name: "LABEL", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['app']"}}},
			{Name: "PATH", Value: "$(LABEL)/x"},
		}
		if _, err := sets.Create(t.Context(), agent, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := sets.Create(t.Context(), deployment("other", "image:other"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, func(ctx context.Context) error {
			d, err := sets.Get(ctx, "other", metav1.GetOptions{})
			if err == nil && d.Status.UpdatedReplicas == 0 {
				err = errors.New("the Deployment does not run")
			}
			return err
		})
		s := open(t, config, "/fleet/workloads?image=image:1&image=image:2")
		first := s.expect(t, "START", "agent")
		if first.Cluster != "fleet-0001" || first.Kind != "Deployment" || first.Namespace != "default" || first.UID == "" || first.PodUID == "" {
			t.Errorf("the running workload: %+v", first)
		}
		env := map[string]string{}
		for _, e := range first.Container.Env {
			env[e.Name] = e.Value
		}
		if env["POD_NAME"] != first.Pod || env["POD_UID"] != string(first.PodUID) || env["PATH"] != "agent/x" {
			t.Errorf("environment: %v, want the pod's fields", env)
		}
		if args := strings.Join(first.Container.Args, " "); args != "--holder="+first.Pod+" --$(POD_NAME) --$(OTHER)" {
			t.Errorf("arguments: %s", args)
		}
		s.expect(t, "SYNCED", "")

		update := func(image string) {
			t.Helper()
			patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, image)
			if _, err := sets.Patch(t.Context(), "agent", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		update("image:2")
		if stopped := s.expect(t, "STOP", "agent"); stopped.PodUID != first.PodUID {
			t.Errorf("stopped pod %s, want %s", stopped.PodUID, first.PodUID)
		}
		second := s.expect(t, "START", "agent")
		if second.PodUID == first.PodUID || second.Pod == first.Pod || second.Container.Image != "image:2" {
			t.Errorf("the pod of another template: %+v, want a new one", second)
		}
		update("image:broken")
		s.expect(t, "STOP", "agent")
		update("image:1")
		s.expect(t, "START", "agent")
		if err := sets.Delete(t.Context(), "agent", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.expect(t, "STOP", "agent")
		if _, err := sets.Create(t.Context(), deployment("last", "image:1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		s.expect(t, "START", "last")
		c.server.Remove("fleet-0001")
		s.expect(t, "STOP", "last")

		if status := finish(t, config, "fleet-0001", "unknown", ""); status != http.StatusNotFound {
			t.Errorf("the end of an unknown pod: %d, want 404", status)
		}
	})
}

// jobText is a Job's status as text.
func jobText(j *batchv1.Job) string {
	text := fmt.Sprintf("active %d succeeded %d failed %d", j.Status.Active, j.Status.Succeeded, j.Status.Failed)
	for _, c := range j.Status.Conditions {
		text += " " + string(c.Type)
	}
	return text
}

func (c *cluster) expectJob(t *testing.T, name, want string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		j, err := c.kube.BatchV1().Jobs("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && jobText(j) != want {
			err = fmt.Errorf("job: %s, want %s", jobText(j), want)
		}
		return err
	})
}

func TestJobWithoutClaimantCompletes(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		if _, err := c.kube.BatchV1().Jobs("default").Create(t.Context(), job("j", "image:1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.expectJob(t, "j", "active 0 succeeded 1 failed 0 SuccessCriteriaMet Complete")
		suspended := job("suspended", "image:1")
		yes := true
		suspended.Spec.Suspend = &yes
		if _, err := c.kube.BatchV1().Jobs("default").Create(t.Context(), suspended, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		c.expectJob(t, "suspended", "active 0 succeeded 0 failed 0")
	})
}

func TestClaimedJob(t *testing.T) {
	fake := asyncClock{testclock.NewFakeClock(time.Unix(1_700_000_000, 0))}
	clusters(t, Options{Clock: fake, ReadyAfter: time.Second}, func(t *testing.T, c *cluster) {
		config, jobs := remote(t, c.server, "fleet-0001"), c.kube.BatchV1().Jobs("default")
		s := open(t, config, "/fleet/workloads?"+url.Values{"image": {"image:1"}}.Encode())
		s.expect(t, "SYNCED", "")
		one := int32(1)
		start := func(name string) workloadEvent {
			t.Helper()
			j := job(name, "image:1")
			j.Spec.BackoffLimit = &one
			if _, err := jobs.Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			fake.Step(reaction)
			return s.expect(t, "START", name)
		}
		good, bad := start("good"), start("bad")
		fake.Step(time.Minute)
		c.expectJob(t, "good", "active 1 succeeded 0 failed 0")
		if status := finish(t, config, "fleet-0001", good.PodUID, ""); status != http.StatusOK {
			t.Errorf("the end of a Job's function: %d, want 200", status)
		}
		s.expect(t, "STOP", "good")
		c.expectJob(t, "good", "active 0 succeeded 1 failed 0 SuccessCriteriaMet Complete")

		finish(t, config, "fleet-0001", bad.PodUID, "no such file")
		s.expect(t, "STOP", "bad")
		c.expectJob(t, "bad", "active 0 succeeded 0 failed 1")
		fake.Step(jobBackoff)
		again := s.expect(t, "START", "bad")
		if again.PodUID == bad.PodUID {
			t.Error("a failed pod was started again, want another")
		}
		finish(t, config, "fleet-0001", again.PodUID, "no such file")
		s.expect(t, "STOP", "bad")
		c.expectJob(t, "bad", "active 0 succeeded 0 failed 2 FailureTarget Failed")
		fake.Step(time.Hour)
		c.expectJob(t, "bad", "active 0 succeeded 0 failed 2 FailureTarget Failed")
	})
}

// TestClaimOutlivesTheStream: a program that restarts finds its Jobs waiting.
func TestClaimOutlivesTheStream(t *testing.T) {
	fake := asyncClock{testclock.NewFakeClock(time.Unix(1_700_000_000, 0))}
	clusters(t, Options{Clock: fake, ReadyAfter: time.Second}, func(t *testing.T, c *cluster) {
		config := remote(t, c.server, "fleet-0001")
		s := open(t, config, "/fleet/workloads?image=image:1")
		s.expect(t, "SYNCED", "")
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		eventually(t, func(context.Context) error {
			c.server.streams.mu.Lock()
			defer c.server.streams.mu.Unlock()
			if len(c.server.streams.workloads) > 0 {
				return errors.New("the stream has not ended")
			}
			return nil
		})
		if _, err := c.kube.BatchV1().Jobs("default").Create(t.Context(), job("j", "image:1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		fake.Step(reaction)
		c.expectJob(t, "j", "active 1 succeeded 0 failed 0")
		fake.Step(time.Minute)
		time.Sleep(50 * time.Millisecond)
		c.expectJob(t, "j", "active 1 succeeded 0 failed 0")
		s = open(t, config, "/fleet/workloads?image=image:1")
		finish(t, config, "fleet-0001", s.expect(t, "START", "j").PodUID, "")
		c.expectJob(t, "j", "active 0 succeeded 1 failed 0 SuccessCriteriaMet Complete")
	})
}

func TestFleetWatch(t *testing.T) {
	clusters(t, Options{}, func(t *testing.T, c *cluster) {
		config := remote(t, c.server, "fleet-0001")
		second := c.server.Add(t.Context(), "fleet-0002")
		s := open(t, config, "/fleet/watch?resource=configmaps&labelSelector=watched")
		var e struct {
			Cluster string
			Type    string
			Time    time.Time
			Object  corev1.ConfigMap
		}
		if s.next(t, &e); e.Type != "SYNCED" {
			t.Fatalf("first line: %+v, want SYNCED", e)
		}
		before := time.Now()
		for _, api := range []*API{c.api, second} {
			client := &cluster{config: api.Config()}
			client.connect(t)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "watched", Labels: map[string]string{"watched": ""}}}
			if _, err := client.kube.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			for name, labels := range map[string]map[string]string{"watched": {"watched": ""}, "other": nil} {
				m := configMap(name, nil)
				m.Labels = labels
				if _, err := client.kube.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if s.next(t, &e); e.Cluster != api.name || e.Type != "ADDED" || e.Object.Name != "watched" || e.Time.Before(before) || e.Time.After(time.Now()) {
				t.Errorf("line: %+v, want the ConfigMap of %s", e, api.name)
			}
		}
		leases := open(t, config, "/fleet/watch?resource=leases.coordination.k8s.io")
		if leases.next(t, &e); e.Type != "SYNCED" {
			t.Errorf("first line: %+v, want SYNCED", e)
		}
	})
}

// TestRecreated deletes a Job and creates it again before the behaviours see either.
func TestRecreated(t *testing.T) {
	fake := asyncClock{testclock.NewFakeClock(time.Unix(1_700_000_000, 0))}
	clusters(t, Options{Clock: fake, ReadyAfter: time.Minute}, func(t *testing.T, c *cluster) {
		jobs := c.kube.BatchV1().Jobs("default")
		s := open(t, remote(t, c.server, "fleet-0001"), "/fleet/workloads?image=image:1")
		s.expect(t, "SYNCED", "")
		create := func() *batchv1.Job {
			t.Helper()
			j, err := jobs.Create(t.Context(), job("j", "image:1"), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
		first := create()
		fake.Step(reaction)
		if e := s.expect(t, "START", "j"); e.UID != first.UID {
			t.Errorf("started the pod of %s, want %s", e.UID, first.UID)
		}
		if err := jobs.Delete(t.Context(), "j", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		second := create()
		fake.Step(reaction)
		if e := s.expect(t, "STOP", "j"); e.UID != first.UID {
			t.Errorf("stopped the pod of %s, want %s", e.UID, first.UID)
		}
		if e := s.expect(t, "START", "j"); e.UID != second.UID {
			t.Errorf("started the pod of %s, want %s", e.UID, second.UID)
		}
	})
}

func TestWorkloadsAreSentOnce(t *testing.T) {
	w := &workloadStream{feed: newFeed(), images: map[string]bool{"image": true}, running: map[types.UID]bool{}}
	for _, what := range []string{"STOP", "START", "START", "STOP", "STOP"} {
		w.notify(workloadEvent{Type: what, PodUID: "1", Container: &corev1.Container{Image: "image"}})
	}
	lines, err := w.take()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(lines), "\n"); got != 2 {
		t.Errorf("%d lines, want one START and one STOP: %s", got, lines)
	}
}
