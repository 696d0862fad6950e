package hubclient

import clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

// Kinds returns the kinds of credentials that the user of the kubeconfig's current
// context has, for example a client certificate and a token. Of two kinds a client
// sends both, and the API server takes the certificate.
func Kinds(kubeconfig []byte) ([]string, error) {
	config, err := parse(kubeconfig)
	if err != nil {
		return nil, err
	}
	_, user, err := current(config)
	if err != nil {
		return nil, err
	}
	return kindsOf(user), nil
}

func kindsOf(user *clientcmdapi.AuthInfo) []string {
	var kinds []string
	for _, kind := range []struct {
		name  string
		there bool
	}{
		{"a client certificate", user.ClientCertificate != "" || len(user.ClientCertificateData) > 0},
		{"a token", user.Token != "" || user.TokenFile != ""},
		{"a password", user.Username != "" || user.Password != ""},
		{"a program (exec)", user.Exec != nil},
		{"an auth-provider", user.AuthProvider != nil},
	} {
		if kind.there {
			kinds = append(kinds, kind.name)
		}
	}
	return kinds
}
