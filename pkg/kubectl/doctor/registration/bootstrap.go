package registration

import (
	"fmt"
	"time"
)

// bootstrap is a bootstrap kubeconfig with what is wrong with it.
type bootstrap struct {
	Bootstrap
	// config is nil if the agent cannot compare it with the hub kubeconfig.
	config *kubeconfig
	// unreadable reports whether the agent exits also with a valid hub kubeconfig.
	unreadable bool
	// flaw is the first condition that it does not meet, or nil.
	flaw *Finding
}

func (b bootstrap) usable() bool { return b.flaw == nil }

func (b bootstrap) has(condition Condition) bool {
	return b.flaw != nil && b.flaw.Condition == condition
}

func (j *judge) bootstrap(of Bootstrap) bootstrap {
	b := bootstrap{Bootstrap: of}
	condition, message := b.examine(j.Now, j.SeveralHubs)
	if condition != "" {
		b.flaw = &Finding{Condition: condition, Object: j.object(of.Secret), Message: message}
	}
	return b
}

// examine parses the kubeconfig and returns the first condition that is not met, if any.
func (b *bootstrap) examine(now time.Time, severalHubs bool) (Condition, string) {
	if !b.Exists {
		return BootstrapMissing, "does not exist; it should have a kubeconfig of a user who may join the hub"
	}
	if flaw := b.read(); flaw != "" {
		b.unreadable = true
		return BootstrapInvalid, "has " + flaw
	}
	if b.config.inlineMismatch() {
		return BootstrapInvalid, "has a kubeconfig with a client certificate and the key of another one"
	}
	if kind, notAfter := b.config.login(); !notAfter.IsZero() && now.After(notAfter) {
		return BootstrapExpired, fmt.Sprintf("has a %s that expired at %s; it should have a valid one", kind, at(notAfter))
	}
	switch {
	case b.config.anonymous():
		return BootstrapRejected, "has a kubeconfig without credentials, which the hub rejects"
	case b.Rejected != "":
		return BootstrapRejected, fmt.Sprintf("has a kubeconfig that the hub %s rejects (%s)", redacted(b.config.cluster.Server), b.Rejected)
	case severalHubs && b.NotAccepted:
		return BootstrapNotAccepted, fmt.Sprintf("has a kubeconfig of the hub %s, where the cluster's hubAcceptsClient is false",
			redacted(b.config.cluster.Server))
	default:
		return "", ""
	}
}

// read parses the kubeconfig and returns why the agent cannot use it, if it cannot.
func (b *bootstrap) read() string {
	raw, ok := b.Data[kubeconfigKey]
	if !ok {
		return "no key kubeconfig"
	}
	config, ok := parse(raw)
	if !ok {
		return "a kubeconfig that does not parse"
	}
	var flaw string
	if b.config, flaw = current(config, b.Data); flaw == "" {
		flaw = b.config.clientFlaw()
	}
	if flaw != "" {
		return "a kubeconfig " + flaw
	}
	return ""
}

// login returns the kind of the user's credentials and when they expire, or zero if that
// is not known. The hub uses the certificate where there is a token as well.
func (k *kubeconfig) login() (string, time.Time) {
	if found, ok := parseChain(k.read(k.user.ClientCertificateData, k.user.ClientCertificate)); ok {
		return "client certificate", found[0].NotAfter
	}
	token := []byte(k.user.Token)
	if k.user.TokenFile != "" {
		token = k.files[k.user.TokenFile]
	}
	if found, _ := parseToken(token); found.Expires != 0 {
		return "token", found.expires()
	}
	return "", time.Time{}
}

// own returns the bootstrap kubeconfig of the hub kubeconfig's hub, or nil. With one hub
// that is the only one.
func (j *judge) own() *bootstrap {
	if !j.SeveralHubs {
		return &j.bootstraps[0]
	}
	if j.hub == nil || j.hub.clientFlaw() != "" {
		return nil
	}
	for i := range j.bootstraps {
		b := &j.bootstraps[i]
		if b.config != nil && b.config.clientFlaw() == "" && b.config.cluster.Server == j.hub.cluster.Server {
			return b
		}
	}
	return nil
}

// choose returns the bootstrap kubeconfig that the agent uses at its next start, or nil
// if it exits for want of one. With several hubs that is the one of its hub, or else the
// first that works. See
// https://github.com/open-cluster-management-io/ocm/blob/v1.2.1/pkg/registration/spoke/bootstrapkubeconfigs.go
func (j *judge) choose() *bootstrap {
	own := j.own()
	if !j.SeveralHubs || own != nil && own.usable() {
		return own
	}
	for i := range j.bootstraps {
		if j.bootstraps[i].usable() {
			return &j.bootstraps[i]
		}
	}
	return nil
}
