package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"open-cluster-management.io/sdk-go/pkg/basecontroller/factory"

	"open-cluster-management.io/helloworld-addon/pkg/hub/addon/identity"
)

// requestsByCluster is the index of certificate signing requests by the cluster in their
// label.
const requestsByCluster = "requestsByCluster"

func requestCluster(obj any) ([]string, error) {
	request, ok := obj.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return nil, fmt.Errorf("want a CertificateSigningRequest, got %T", obj)
	}
	if cluster := request.Labels[clusterv1.ClusterNameLabelKey]; cluster != "" {
		return []string{cluster}, nil
	}
	return nil, nil
}

// requestCleaner deletes the agents' used certificate signing requests
// (identity.UsedRequests). It has one worker.
type requestCleaner struct {
	client   certificatesclient.CertificateSigningRequestInterface
	requests cache.Indexer
	clock    clock.PassiveClock
	// issuedAt is the time at which a request's certificate was first seen, by cluster
	// and by the request's UID.
	issuedAt map[string]map[types.UID]time.Time
}

func newRequestCleaner(client kubernetes.Interface, informers kubeinformers.SharedInformerFactory, now clock.PassiveClock) factory.Controller {
	informer := informers.Certificates().V1().CertificateSigningRequests().Informer()
	c := &requestCleaner{
		client:   client.CertificatesV1().CertificateSigningRequests(),
		requests: informer.GetIndexer(),
		clock:    now,
		issuedAt: map[string]map[types.UID]time.Time{},
	}
	return factory.New().WithInformersQueueKeysFunc(func(obj runtime.Object) []string {
		clusters, err := requestCluster(obj)
		if err != nil {
			return nil
		}
		return clusters
	}, informer).WithSync(c.sync).ToController("used-requests")
}

func (c *requestCleaner) sync(ctx context.Context, syncCtx factory.SyncContext, cluster string) error {
	found, err := c.requests.ByIndex(requestsByCluster, cluster)
	if err != nil {
		return fmt.Errorf("look up the certificate signing requests of cluster %s: %w", cluster, err)
	}
	requests := make([]*certificatesv1.CertificateSigningRequest, 0, len(found))
	for _, object := range found {
		if request, ok := object.(*certificatesv1.CertificateSigningRequest); ok {
			requests = append(requests, request)
		}
	}
	now := c.clock.Now()
	c.recordIssued(cluster, requests, now)
	used, again := identity.UsedRequests(requests, cluster, func(request *certificatesv1.CertificateSigningRequest) time.Duration {
		return now.Sub(c.issuedAt[cluster][request.UID])
	})
	if again > 0 {
		syncCtx.Queue().AddAfter(cluster, again)
	}
	var errs []error
	for _, request := range used {
		klog.FromContext(ctx).Info("Deleting a used certificate signing request", "csr", request.Name, "cluster", cluster)
		err := c.remove(ctx, request)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, fmt.Errorf("delete the used certificate signing request %s of cluster %s: %w", request.Name, cluster, err))
		}
	}
	return errors.Join(errs...)
}

// removeTimeout bounds the deletion of one request.
const removeTimeout = 10 * time.Second

func (c *requestCleaner) remove(ctx context.Context, request *certificatesv1.CertificateSigningRequest) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	return c.client.Delete(ctx, request.Name, *metav1.NewPreconditionDeleteOptions(string(request.UID)))
}

// recordIssued records the time at which each certificate is first seen, and drops the
// requests that are gone.
func (c *requestCleaner) recordIssued(cluster string, requests []*certificatesv1.CertificateSigningRequest, now time.Time) {
	seen := map[types.UID]time.Time{}
	for _, request := range requests {
		if len(request.Status.Certificate) == 0 {
			continue
		}
		seen[request.UID] = now
		if at, ok := c.issuedAt[cluster][request.UID]; ok {
			seen[request.UID] = at
		}
	}
	if len(seen) == 0 {
		delete(c.issuedAt, cluster)
		return
	}
	c.issuedAt[cluster] = seen
}
