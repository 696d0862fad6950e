package frame

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/component-base/metrics/legacyregistry"

	// These register the metrics of client-go, of work queues, and of the build.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
)

// shutdownTimeout is how long requests in flight may still take at the end.
const shutdownTimeout = 5 * time.Second

// startServer serves /healthz, /livez and /readyz without authorization, /metrics to
// clients that the hub authorizes, and no profiles. It returns a channel that is closed
// when the server has ended after ctx, or nil when the port is 0.
func startServer(ctx context.Context, opts *Options, checks ...healthz.HealthChecker) (<-chan struct{}, error) {
	if opts.Serving.Port == 0 {
		return nil, nil
	}
	serving := genericoptions.NewSecureServingOptions()
	serving.BindAddress = net.ParseIP(opts.Serving.BindAddress)
	serving.BindPort = opts.Serving.Port
	serving.DisableHTTP2Serving = true // HTTP/2 lets one client open many streams, and a scrape needs one.
	serving.ServerCert.CertDirectory = ""
	serving.ServerCert.CertKey.CertFile = opts.Serving.CertFile
	serving.ServerCert.CertKey.KeyFile = opts.Serving.KeyFile
	if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, nil); err != nil {
		return nil, fmt.Errorf("make a serving certificate: %w", err)
	}
	var secure *genericapiserver.SecureServingInfo
	if err := serving.ApplyTo(&secure); err != nil {
		return nil, fmt.Errorf("serve on --bind-address=%s --secure-port=%d: %w", opts.Serving.BindAddress, opts.Serving.Port, err)
	}
	handler, err := delegated(opts.Kubeconfig, secure, newMux(checks))
	if err != nil {
		return nil, errors.Join(err, secure.Listener.Close())
	}
	stopped, _, err := secure.Serve(handler, shutdownTimeout, ctx.Done())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serve on %s: %w", secure.Listener.Addr(), err), secure.Listener.Close())
	}
	return stopped, nil
}

func newMux(checks []healthz.HealthChecker) *http.ServeMux {
	mux := http.NewServeMux()
	checks = append([]healthz.HealthChecker{healthz.PingHealthz}, checks...)
	healthz.InstallHandler(mux, checks...)
	healthz.InstallLivezHandler(mux, checks...)
	healthz.InstallReadyzHandler(mux, checks...)
	mux.Handle("/metrics", legacyregistry.Handler())
	return mux
}

// delegated returns a handler that lets the hub authenticate and authorize each request.
// Health needs no authorization, by k8s.io/apiserver's defaults.
func delegated(kubeconfig string, secure *genericapiserver.SecureServingInfo, handler http.Handler) (http.Handler, error) {
	var authentication genericapiserver.AuthenticationInfo
	authenticationOptions := genericoptions.NewDelegatingAuthenticationOptions()
	authenticationOptions.RemoteKubeConfigFile = kubeconfig
	if err := authenticationOptions.ApplyTo(&authentication, secure, nil); err != nil {
		return nil, fmt.Errorf("set up delegated authentication: %w", err)
	}
	var authorization genericapiserver.AuthorizationInfo
	authorizationOptions := genericoptions.NewDelegatingAuthorizationOptions()
	authorizationOptions.RemoteKubeConfigFile = kubeconfig
	if err := authorizationOptions.ApplyTo(&authorization); err != nil {
		return nil, fmt.Errorf("set up delegated authorization: %w", err)
	}

	resolver := &apirequest.RequestInfoFactory{}
	unauthorized := genericapifilters.Unauthorized(scheme.Codecs)
	handler = genericapifilters.WithAuthorization(handler, authorization.Authorizer, scheme.Codecs)
	handler = genericapifilters.WithAuthentication(handler, authentication.Authenticator, unauthorized, nil, nil)
	handler = genericapifilters.WithRequestInfo(handler, resolver)
	handler = genericapifilters.WithCacheControl(handler)
	handler = genericfilters.WithPanicRecovery(handler, resolver)
	return handler, nil
}
