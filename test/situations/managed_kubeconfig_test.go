//go:build situations && long

package situations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const twoKinds = "has more than one kind of credentials (a client certificate, a token)"

// managedKubeconfig: the agent of a hosted add-on does not use an administrator's
// certificate that was left beside its token, warns of an administrator's
// kubeconfig, and works with the one that the documentation makes. So does the
// pre-delete hook.
func managedKubeconfig(t *testing.T, c *cluster) {
	c.put(t, "stays", "a")
	setSecret(t, c.home, c.install, managedSecret, c.administrators(t, "a-token"))
	c.enable(t)
	eventually(t, "the agent refuses a certificate beside a token", c.logs("app.kubernetes.io/name="+agentDeployment, twoKinds))
	must(t, "nothing is copied", c.hasCopies(t.Context(), map[string]map[string]string{}))

	setSecret(t, c.home, c.install, managedSecret, c.administrators(t, ""))
	c.replaceAgent(t)
	eventually(t, "an administrator's kubeconfig works", c.working)
	eventually(t, "and is warned of", c.warned)

	must(t, "delete the Secret", c.home.CoreV1().Secrets(c.install).Delete(t.Context(), managedSecret, metav1.DeleteOptions{}))
	c.followTheDocumentation(t)
	secret, err := c.home.CoreV1().Secrets(c.install).Get(t.Context(), managedSecret, metav1.GetOptions{})
	must(t, "get the Secret that the documentation makes", err)
	config, err := clientcmd.Load(secret.Data["kubeconfig"])
	must(t, "read its kubeconfig", err)
	for name, user := range config.AuthInfos {
		if len(config.AuthInfos) != 1 || user.Token == "" || len(user.ClientCertificateData) > 0 || user.ClientCertificate != "" {
			t.Errorf("user %s of %d has something else than a token", name, len(config.AuthInfos))
		}
	}
	c.replaceAgent(t)
	c.put(t, "changes", "b")
	eventually(t, "the documentation's kubeconfig works", c.working)
	if err := c.warned(t.Context()); err == nil {
		t.Error("the documentation's kubeconfig is warned of")
	}

	good := secret.Data["kubeconfig"]
	setSecret(t, c.home, c.install, managedSecret, c.administrators(t, "a-token"))
	client := c.hub.dynamic.Resource(addonResource).Namespace(c.name)
	must(t, "delete the add-on", client.Delete(t.Context(), addonName, metav1.DeleteOptions{}))
	eventually(t, "the hub says why the hook does not begin", func(ctx context.Context) error {
		addOn, err := client.Get(ctx, addonName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if status := fmt.Sprint(addOn.Object["status"]); !strings.Contains(status, twoKinds) {
			return fmt.Errorf("the status is %s", status)
		}
		return nil
	})
	setSecret(t, c.home, c.install, managedSecret, good)
	c.disable(t)
}

// administrators is an administrator's kubeconfig of the managed cluster, with a
// token beside the certificate where one is given.
func (c *cluster) administrators(t *testing.T, token string) []byte {
	t.Helper()
	config, err := clientcmd.LoadFromFile(c.outside)
	must(t, "read the managed cluster's kubeconfig", err)
	for name, user := range config.AuthInfos {
		if len(user.ClientCertificateData) == 0 {
			t.Fatalf("user %s of %s has no client certificate", name, c.outside)
		}
		user.Token = token
	}
	content, err := clientcmd.Write(*config)
	must(t, "encode the managed cluster's kubeconfig", err)
	return content
}

// logs returns a check that the log of one of the pods has the text, before or
// after a restart of its container.
func (c *cluster) logs(selector, text string) check {
	return func(ctx context.Context) error {
		list, err := c.home.CoreV1().Pods(c.install).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		problem := fmt.Errorf("no log of %d pods has %q", len(list.Items), text)
		for _, pod := range list.Items {
			log, err := c.home.CoreV1().Pods(c.install).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
			if err == nil && bytes.Contains(log, []byte(text)) {
				return nil
			}
			problem = errors.Join(problem, err)
		}
		return problem
	}
}

// warned checks that an event on the present agent's pod warns of its kubeconfig.
func (c *cluster) warned(ctx context.Context) error {
	pods, err := c.agentPods(ctx)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		events, err := c.home.CoreV1().Events(c.install).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(pod.UID)})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Reason == "ManagedKubeconfigMayDoEverything" {
				return nil
			}
		}
	}
	return fmt.Errorf("no event on %d pods warns", len(pods))
}

// followTheDocumentation runs the commands of docs/hosted-mode.md as they are, but
// for the names of the clusters and the URL.
func (c *cluster) followTheDocumentation(t *testing.T) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "hosted-mode.md"))
	must(t, "read the documentation", err)
	_, rest, found := strings.Cut(string(page), "```\nSERVER=")
	commands, _, ended := strings.Cut(rest, "\n```")
	_, commands, _ = strings.Cut(commands, "\n")
	if !found || !ended {
		t.Fatal("the documentation has no commands that begin with SERVER=")
	}
	config, err := clientcmd.LoadFromFile(c.outside)
	must(t, "read the managed cluster's kubeconfig", err)
	server := config.Clusters[config.Contexts[config.CurrentContext].Cluster].Server
	commands = strings.NewReplacer("cluster2", c.name, "cluster1", c.hosting).Replace(commands)

	dir := t.TempDir()
	shell := exec.CommandContext(t.Context(), "bash", "-euxo", "pipefail", "-c", commands)
	shell.Dir = dir
	shell.Env = append(os.Environ(), "SERVER="+server, "KUBECONFIG="+contexts(t, dir))
	output, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the documentation's commands: %v\n%s", err, output)
	}
}

// contexts writes a kubeconfig with a context for each cluster, of its name.
func contexts(t *testing.T, dir string) string {
	t.Helper()
	all := clientcmdapi.NewConfig()
	for name, file := range pairs(os.Getenv(clustersEnv)) {
		config, err := clientcmd.LoadFromFile(file)
		must(t, "read "+file, err)
		present := config.Contexts[config.CurrentContext]
		all.Clusters[name], all.AuthInfos[name] = config.Clusters[present.Cluster], config.AuthInfos[present.AuthInfo]
		all.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	path := filepath.Join(dir, "contexts.kubeconfig")
	must(t, "write a kubeconfig", clientcmd.WriteToFile(*all, path))
	return path
}
