package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"open-cluster-management.io/helloworld-addon/sandbox/programs/fleet/klusterlet"
)

// File is the configuration that the sandbox's supervisor writes. The module sandbox has a copy
// of this type, because neither module imports the other: a test of each decodes the same file.
type File struct {
	// Bootstrap is the path of the bootstrap kubeconfig. Each cluster gets a copy with its
	// own server.
	Bootstrap string `json:"bootstrap"`
	// HubURL is the hub's API server for clusters without a HubURL of their own.
	HubURL string `json:"hubURL"`
	// Address is the host and port at which the clusters' APIs are served.
	Address string `json:"address"`
	// ServingCert and ServingKey are the paths of the certificate for Address, CA that of
	// the authority that signed it.
	ServingCert string `json:"servingCert"`
	ServingKey  string `json:"servingKey"`
	CA          string `json:"ca"`
	// Token is the bearer token for Address.
	Token string `json:"token"`
	// Members is the path of the file with the desired clusters.
	Members string `json:"members"`
	// AddonAuth is klusterlet.AuthCSR or klusterlet.AuthToken.
	AddonAuth string `json:"addonAuth"`
	// TokenLife is the life of the add-ons' tokens; 0 selects OCM's default.
	TokenLife metav1.Duration `json:"tokenLife"`
	// StatusSync is the period with which the work agents read the applied objects.
	StatusSync metav1.Duration `json:"statusSync"`
	// ReadyAfter is the time until a Deployment is available.
	ReadyAfter metav1.Duration `json:"readyAfter"`
	// BrokenImage is a part of the images that never get available; empty means none.
	BrokenImage string `json:"brokenImage"`
}

// Member is a desired cluster.
type Member struct {
	// Name is the cluster's name.
	Name string `json:"name"`
	// HubURL is the hub's API server as this cluster reaches it; empty means File.HubURL.
	HubURL string `json:"hubURL,omitempty"`
}

// shortestTokenLife is the shortest life of a token that an API server accepts.
const shortestTokenLife = 10 * time.Minute

// readFile reads and validates the configuration.
func readFile(path string) (File, error) {
	var f File
	if err := readJSON(path, &f); err != nil {
		return File{}, err
	}
	if err := f.validate(); err != nil {
		return File{}, fmt.Errorf("configuration %s: %w", path, err)
	}
	return f, nil
}

func (f File) validate() error {
	for _, required := range []struct{ name, value string }{
		{"bootstrap", f.Bootstrap}, {"hubURL", f.HubURL}, {"address", f.Address}, {"servingCert", f.ServingCert},
		{"servingKey", f.ServingKey}, {"token", f.Token}, {"members", f.Members},
	} {
		if required.value == "" {
			return fmt.Errorf("%s is empty", required.name)
		}
	}
	if _, _, err := net.SplitHostPort(f.Address); err != nil {
		return fmt.Errorf("address: %w", err)
	}
	if f.AddonAuth != klusterlet.AuthCSR && f.AddonAuth != klusterlet.AuthToken {
		return fmt.Errorf("addonAuth is %q: it must be %s or %s", f.AddonAuth, klusterlet.AuthCSR, klusterlet.AuthToken)
	}
	if life := f.TokenLife.Duration; life != 0 && life < shortestTokenLife {
		return fmt.Errorf("tokenLife is %s: the shortest is %s", life, shortestTokenLife)
	}
	if f.StatusSync.Duration <= 0 {
		return fmt.Errorf("statusSync is %s: it must be more than 0", f.StatusSync.Duration)
	}
	if f.ReadyAfter.Duration < 0 {
		return fmt.Errorf("readyAfter is %s: it must not be less than 0", f.ReadyAfter.Duration)
	}
	return nil
}

// readMembers reads and validates the desired clusters. Without the file there are none.
func readMembers(path string) ([]Member, error) {
	var members []Member
	if err := readJSON(path, &members); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	known := map[string]bool{}
	for _, m := range members {
		if problems := validation.IsDNS1123Label(m.Name); len(problems) > 0 {
			return nil, fmt.Errorf("clusters in %s: name %q: %s", path, m.Name, strings.Join(problems, ", "))
		}
		if known[m.Name] {
			return nil, fmt.Errorf("clusters in %s: %s is there twice", path, m.Name)
		}
		known[m.Name] = true
	}
	return members, nil
}

func readJSON(path string, into any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read a file of the fleet: %w", err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("decode %s: %w", path, err)
	}
	return nil
}
