package ocm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The drivers by which OCM's registration agent gets credentials of the hub's API server for
// add-ons (Klusterlet
// spec.registrationConfiguration.addOnKubeClientRegistrationDriver.authType):
// https://github.com/open-cluster-management-io/ocm/tree/v1.2.1/pkg/registration/register
const (
	// AuthCSR is a client certificate that the hub signs on request.
	AuthCSR = "csr"
	// AuthToken is a token of the ServiceAccount ADDON-agent in the cluster's
	// namespace on the hub, which OCM's addon manager creates.
	AuthToken = "token"
)

// ShortestTokenLife is the shortest life of a token that an API server accepts.
const ShortestTokenLife = 10 * time.Minute

// Agents holds settings of OCM's agents on the managed clusters, which a Klusterlet has too.
type Agents struct {
	// AddonAuth is AuthCSR or AuthToken.
	AddonAuth string
	// AddonTokenLife is the life of the tokens of AuthToken; 0 selects OCM's default, a
	// year.
	AddonTokenLife time.Duration
	// StatusSyncInterval is the period with which the work agent reads the objects that
	// it has applied.
	StatusSyncInterval time.Duration
}

// ParseAuth returns the driver, or an error that names the known ones.
func ParseAuth(auth string) (string, error) {
	known := []string{AuthCSR, AuthToken}
	if !slices.Contains(known, auth) {
		return "", fmt.Errorf("unknown driver %q for add-ons: the drivers are %s", auth, strings.Join(known, ", "))
	}
	return auth, nil
}

// AuthFile is the file in a cluster's directory with its driver for add-ons, if that differs
// from the one with which the sandbox was started.
const AuthFile = "addon-auth"

// RegistrationFlagsFile is the file in a cluster's directory with further flags of the
// registration agent, one per line.
const RegistrationFlagsFile = "registration-flags"

// override returns the content of a file in the cluster's directory, or the value if the file
// does not exist.
func (m *Managed) override(file, value string) string {
	content, err := os.ReadFile(filepath.Join(m.Cluster.Dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return value
	}
	return strings.TrimSpace(string(content))
}

// authFlags returns the registration agent's flags about add-ons. OCM v1.0 knows certificates alone, the default, and
// no flag for them.
func (m *Managed) authFlags() []string {
	var flags []string
	if auth := m.override(AuthFile, m.Agents.AddonAuth); auth != AuthCSR {
		flags = append(flags, "--addon-kubeclient-registration-auth="+auth)
	}
	if life := m.Agents.AddonTokenLife; life > 0 {
		flags = append(flags, fmt.Sprintf("--addon-token-expiration-seconds=%d", int64(life.Seconds())))
	}
	return flags
}

// registrationFlags returns the lines of RegistrationFlagsFile.
func (m *Managed) registrationFlags() []string {
	return slices.DeleteFunc(strings.Split(m.override(RegistrationFlagsFile, ""), "\n"),
		func(line string) bool { return line == "" })
}
