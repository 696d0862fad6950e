package steps

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/test/fleet/controller"
	"open-cluster-management.io/helloworld-addon/test/fleet/flows"
	"open-cluster-management.io/helloworld-addon/test/fleet/record"
	"open-cluster-management.io/helloworld-addon/test/fleet/scrape"
)

// namespace is that of the controllers on the hub, and of the Placement.
const namespace = "open-cluster-management"

// Subject is an add-on with a hub controller.
type Subject struct {
	// Name is record.Ours or record.Rival.
	Name string
	// Program is the controller.
	Program string
	// Manifests are files with its objects on the hub, its Deployment apart.
	Manifests []string
	// Account is its ServiceAccount.
	Account string
	// Replicas is the number of controllers, Args what each gets beside its kubeconfig.
	// "PORT" in them is replaced by a free port.
	Replicas int
	Args     []string
	// Metrics tells that the controllers serve metrics on that port.
	Metrics bool
}

// Ours is the add-on of this repository, with the manifests of the directory deploy.
func Ours(program, deploy, agentImage string) Subject {
	var manifests []string
	for _, name := range []string{"base/crds/helloworld.open-cluster-management.io_configmapmirrors.yaml", "base/serviceaccount.yaml", "base/rbac.yaml",
		"clustermanagementaddon.yaml"} {
		manifests = append(manifests, filepath.Join(deploy, name))
	}
	return Subject{Name: record.Ours, Program: program, Manifests: manifests, Account: "helloworld-controller", Replicas: 2, Metrics: true,
		Args: []string{"--namespace=" + namespace, "--agent-image=" + agentImage, "--bind-address=127.0.0.1", "--secure-port=PORT"}}
}

// Rival is addon-framework's own example, with the manifests of its directory
// examples/deploy/addon/helloworld/resources. It serves no metrics to others, and listens on the
// port 8443.
func Rival(program, resources string) Subject {
	var manifests []string
	for _, name := range []string{"service_account.yaml", "cluster_role.yaml", "cluster_role_binding.yaml", "helloworld_clustermanagementaddon.yaml"} {
		manifests = append(manifests, filepath.Join(resources, name))
	}
	return Subject{Name: record.Rival, Program: program, Manifests: manifests, Account: "helloworld-addon-sa", Replicas: 1,
		Args: []string{"controller", "--component-namespace=" + namespace}}
}

// ReplicaSets is the controller of ConfigMapReplicaSets, with the manifests of the directory deploy.
func ReplicaSets(program, deploy string) Subject {
	var manifests []string
	for _, name := range []string{"base/crds/helloworld.open-cluster-management.io_configmapreplicasets.yaml", "distribution/serviceaccount.yaml", "distribution/rbac.yaml"} {
		manifests = append(manifests, filepath.Join(deploy, name))
	}
	return Subject{Name: "replicaset", Program: program, Manifests: manifests, Account: "helloworld-replicaset-controller", Replicas: 1, Metrics: true,
		Args: []string{"--namespace=" + namespace, "--bind-address=127.0.0.1", "--secure-port=PORT"}}
}

func (s Subject) users() []flowcontrolv1.Subject {
	return []flowcontrolv1.Subject{flows.ServiceAccount(namespace, s.Account)}
}

func subjects(groups ...string) []flowcontrolv1.Subject {
	var all []flowcontrolv1.Subject
	for _, group := range groups {
		all = append(all, flows.Group(group))
	}
	return all
}

// deploy applies the objects of the add-on's controller but its Deployment, writes a kubeconfig of
// its ServiceAccount, and starts the controllers. Its ClusterManagementAddOn enables it nowhere.
func (f *Fleet) deploy(ctx context.Context) error {
	if err := f.install(ctx, f.Subject); err != nil {
		return err
	}
	if err := f.setInstallStrategy(ctx, `{"type":"Manual","placements":null}`); err != nil {
		return err
	}
	var err error
	if f.scraper, err = f.token(ctx, "fleet-scraper"); err != nil {
		return err
	}
	return f.startControllers(ctx)
}

// install applies the objects of a program but its Deployment, and writes a kubeconfig of its ServiceAccount.
func (f *Fleet) install(ctx context.Context, s Subject) error {
	applier, err := apply.New(f.config)
	if err != nil {
		return err
	}
	documents := [][]byte{[]byte(controller.Scraper)}
	for _, name := range s.Manifests {
		content, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read a manifest: %w", err)
		}
		documents = append(documents, inNamespace(content))
	}
	for _, document := range documents {
		if err := applier.Apply(ctx, document); err != nil {
			return fmt.Errorf("apply the manifests of %s: %w", s.Name, err)
		}
	}
	token, err := f.token(ctx, s.Account)
	if err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(filepath.Join(f.Dir, "hub.kubeconfig"))
	if err != nil {
		return fmt.Errorf("read the hub's kubeconfig: %w", err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	}
	if err := clientcmd.WriteToFile(*config, f.kubeconfig(s)); err != nil {
		return fmt.Errorf("write the kubeconfig of %s: %w", s.Name, err)
	}
	return nil
}

// inNamespace gives the objects of the rival, which kustomize would put there, their namespace.
func inNamespace(content []byte) []byte {
	if bytes.Contains(content, []byte("namespace:")) || !bytes.Contains(content, []byte("kind: ServiceAccount")) {
		return content
	}
	return bytes.Replace(content, []byte("metadata:\n"), []byte("metadata:\n  namespace: "+namespace+"\n"), 1)
}

func (f *Fleet) kubeconfig(s Subject) string { return filepath.Join(f.Work, s.Name+".kubeconfig") }

func (f *Fleet) token(ctx context.Context, account string) (string, error) {
	seconds := int64(24 * 60 * 60)
	var token string
	err := poll(ctx, time.Minute, func(ctx context.Context) error {
		answer, err := f.kube.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account,
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
		if err == nil {
			token = answer.Status.Token
		}
		return err
	})
	return token, err
}

// startControllers starts the controllers, and returns when one of them works.
func (f *Fleet) startControllers(ctx context.Context) error {
	f.controllers = nil
	for i := range f.Subject.Replicas {
		if err := f.startController(fmt.Sprintf("%s-controller-%d", f.Subject.Name, i)); err != nil {
			return err
		}
	}
	_, err := f.awaitLeader(ctx)
	return err
}

func (f *Fleet) startController(name string) error {
	p, err := f.start(f.Subject, name)
	if err == nil {
		f.controllers = append(f.controllers, p)
	}
	return err
}

// start starts a process of a program.
func (f *Fleet) start(s Subject, name string) (*controller.Process, error) {
	options := controller.Options{Name: name, Dir: f.Work, Program: s.Program, Token: f.scraper}
	if s.Metrics {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		options.Port = port
	}
	for _, arg := range append(s.Args[:len(s.Args):len(s.Args)], "--kubeconfig="+f.kubeconfig(s)) {
		options.Args = append(options.Args, strings.ReplaceAll(arg, "PORT", fmt.Sprint(options.Port)))
	}
	return controller.Start(options)
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// stopControllers ends all controllers.
func (f *Fleet) stopControllers() error {
	var first error
	for _, p := range f.controllers {
		if err := p.Stop(); err != nil && first == nil {
			first = err
		}
	}
	f.controllers = nil
	return first
}

// started is the line of our controller's log when it works.
const started = "Started controllers"

// awaitLeader waits until a controller works, and returns it. The rival, which does not log that,
// is given a few seconds.
func (f *Fleet) awaitLeader(ctx context.Context) (*controller.Process, error) {
	if !f.Subject.Metrics {
		return f.controllers[0], f.pause(ctx, 5*time.Second)
	}
	var leader *controller.Process
	err := poll(ctx, f.Times.Limit, func(context.Context) (err error) {
		leader, err = f.leader()
		return err
	})
	return leader, err
}

// leader returns the controller that works: of those that have logged so, the one that runs.
func (f *Fleet) leader() (*controller.Process, error) {
	for _, p := range f.controllers {
		logged, err := p.Logged(started)
		if err != nil {
			return nil, err
		}
		if p.Running() != 0 && (logged || !f.Subject.Metrics) {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no controller of %s works", f.Subject.Name)
}

// controllerMetrics are the metrics of the leader that the figures need.
func (f *Fleet) controllerMetrics(ctx context.Context) (scrape.Metrics, error) {
	p, err := f.leader()
	if err != nil || !f.Subject.Metrics {
		return scrape.Metrics{}, err
	}
	return p.Metrics(ctx, controller.HeapMetric, controller.ThrottledMetric)
}
