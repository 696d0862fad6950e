package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	vklog "github.com/virtual-kubelet/virtual-kubelet/log"
	"github.com/virtual-kubelet/virtual-kubelet/log/klogv2"
	vknode "github.com/virtual-kubelet/virtual-kubelet/node"
	"github.com/virtual-kubelet/virtual-kubelet/node/nodeutil"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// The client's rate limits unless Config sets them: kubelet's defaults.
const (
	defaultQPS   = 50
	defaultBurst = 100
)

// Run registers the node and runs its pods until ctx ends. It returns after all
// its processes and goroutines have ended; the Node object stays.
//
// The pods of an earlier run are started again, because their processes ended
// with it.
func Run(ctx context.Context, options Options) error {
	if err := options.Validate(); err != nil {
		return fmt.Errorf("node options: %w", err)
	}
	options = options.withDefaults()
	logger := klog.FromContext(ctx).WithValues("node", options.Name)
	ctx = vklog.WithLogger(klog.NewContext(ctx, logger), klogv2.New(vklog.Fields{"node": options.Name}))
	if err := prepareDirs(options); err != nil {
		return err
	}
	client, err := newClient(options.Config)
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "sandbox-node", Host: options.Name})
	logger.Info("Starting node", "address", options.Address, "port", options.Port)
	return run(ctx, options, client, recorder)
}

func prepareDirs(options Options) error {
	if err := os.RemoveAll(options.StateDir); err != nil {
		return fmt.Errorf("remove the state of an earlier node: %w", err)
	}
	for _, dir := range []string{options.StateDir, options.LogDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create a directory of the node: %w", err)
		}
	}
	return nil
}

func newClient(config *rest.Config) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS, config.Burst = defaultQPS, defaultBurst
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the node: %w", err)
	}
	return client, nil
}

// run wires the parts together and waits for them.
func run(ctx context.Context, options Options, client kubernetes.Interface, recorder record.EventRecorder) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pods := informers.NewSharedInformerFactoryWithOptions(client, 0,
		nodeutil.PodInformerFilter(options.Name), informers.WithTransform(stripManagedFields))
	object := nodeObject(options.Name, options.Address, options.Port, runtime.NumCPU(), options.Clock.Now())
	s := &shared{
		Options: options, client: client, recorder: recorder,
		logs: logStore{options.LogDir}, allocatable: object.Status.Allocatable,
	}
	p := newProvider(ctx, s, pods.Core().V1().Pods().Lister())
	s.store = newStore(client, options.Clock, p.changed)
	controller, err := newPodController(client, pods, recorder, p)
	if err != nil {
		return err
	}
	registered, err := newRegistration(client, object)
	if err != nil {
		return err
	}
	server, err := newServer(ctx, p, object.DeepCopy())
	if err != nil {
		return err
	}

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.serve(ctx) })
	pods.Start(ctx.Done())
	group.Go(func() error { return controller.Run(ctx, podWorkers) })
	group.Go(func() error { return p.whenReady(ctx, controller, registered.run) })
	err = group.Wait()
	cancel()
	p.wait()
	s.store.wait()
	pods.Shutdown()
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// podWorkers is the number of pods that virtual-kubelet syncs at the same time.
// Each sync is short, because a worker of ours runs each pod.
const podWorkers = 4

// newPodController returns virtual-kubelet's pod controller. That requires
// informers of Secrets, ConfigMaps and Services to resolve environments. This node
// resolves them itself, and a node may not list these objects: the controller gets
// informers that are never started.
func newPodController(client kubernetes.Interface, pods informers.SharedInformerFactory, recorder record.EventRecorder, p *provider) (*vknode.PodController, error) {
	podInformer := pods.Core().V1().Pods()
	_, err := podInformer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				p.observed(pod)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch the node's pods: %w", err)
	}
	unused := informers.NewSharedInformerFactory(client, 0).Core().V1()
	controller, err := vknode.NewPodController(vknode.PodControllerConfig{
		PodClient: client.CoreV1(), PodInformer: podInformer, Provider: p,
		EventRecorder:  warningsOnly{recorder},
		SecretInformer: unused.Secrets(), ConfigMapInformer: unused.ConfigMaps(), ServiceInformer: unused.Services(),
		SkipDownwardAPIResolution: true,
	})
	if err != nil {
		return nil, fmt.Errorf("create the pod controller: %w", err)
	}
	return controller, nil
}

// whenReady waits until the node's pods have been listed, removes the logs of all
// other pods, and runs next.
func (p *provider) whenReady(ctx context.Context, controller *vknode.PodController, next func(context.Context) error) error {
	select {
	case <-ctx.Done():
		return nil
	case <-controller.Done():
		return controller.Err()
	case <-controller.Ready():
	}
	known, err := p.lister.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the node's pods: %w", err)
	}
	if err := p.logs.keep(known); err != nil {
		return err
	}
	return next(ctx)
}
