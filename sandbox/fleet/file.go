package fleet

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Environment is the variable with the path of a File.
const Environment = "OCM_FLEET"

// MaxClusters is the largest number of clusters of a fleet: their names have four digits.
const MaxClusters = 9999

// File describes a fleet to the programs that run its agents. ocm-sandbox writes it as JSON.
type File struct {
	// Bootstrap is the path of a kubeconfig with which a cluster can join the hub.
	Bootstrap string `json:"bootstrap"`
	// HubURL is the hub's URL for clusters without one of their own.
	HubURL string `json:"hubURL"`
	// Address is the host and port of the clusters' APIs, which are served by TLS.
	Address string `json:"address"`
	// ServingCert and ServingKey are the paths of the server's certificate and key, CA
	// that of the authority that has signed it.
	ServingCert string `json:"servingCert"`
	ServingKey  string `json:"servingKey"`
	CA          string `json:"ca"`
	// Token is the bearer token for the clusters' APIs.
	Token string `json:"token"`
	// Members is the path of a file with the clusters, a list of Member as JSON.
	Members string `json:"members"`
	// AddonAuth is the driver for add-ons' credentials, csr or token, and TokenLife the
	// life of a token; 0 selects OCM's default.
	AddonAuth string          `json:"addonAuth"`
	TokenLife metav1.Duration `json:"tokenLife"`
	// StatusSync is the period with which work agents read the status of applied objects.
	StatusSync metav1.Duration `json:"statusSync"`
	// ReadyAfter is the time after which a Deployment is available.
	ReadyAfter metav1.Duration `json:"readyAfter"`
	// BrokenImage, if not empty, is a part of the images whose Deployments never become
	// available.
	BrokenImage string `json:"brokenImage"`
}

// Member is one cluster of a fleet.
type Member struct {
	Name string `json:"name"`
	// HubURL is the cluster's URL of the hub; empty means File.HubURL.
	HubURL string `json:"hubURL,omitempty"`
}

// Outside is what a program outside the sandbox needs to reach the clusters' APIs. It is in the file
// outside.json of the fleet's directory.
type Outside struct {
	// Address is a host and port, CA the path of an authority's certificate, Token a
	// bearer token.
	Address string `json:"address"`
	CA      string `json:"ca"`
	Token   string `json:"token"`
}

// Name returns the name of the cluster with this number, which begins with 1.
func Name(number int) string { return fmt.Sprintf("fleet-%04d", number) }

// Number returns the number of the cluster with this name. It reports whether the name is that of a
// fleet's cluster.
func Number(name string) (int, bool) {
	number := 0
	_, err := fmt.Sscanf(name, "fleet-%d", &number)
	return number, err == nil && number > 0 && number <= MaxClusters && name == Name(number)
}

// Read decodes a JSON file.
func Read[T any](path string) (T, error) {
	var value T
	content, err := os.ReadFile(path)
	if err != nil {
		return value, fmt.Errorf("read a file of the fleet: %w", err)
	}
	if err := json.Unmarshal(content, &value); err != nil {
		return value, fmt.Errorf("parse %s: %w", path, err)
	}
	return value, nil
}

// Write replaces a file by a value as JSON, which its readers see as a whole. Only its owner can read
// it.
func Write(path string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return Replace(path, append(content, '\n'))
}

// Replace replaces a file's content, which its readers see as a whole. Only its owner can read it.
func Replace(path string, content []byte) error {
	unfinished := path + ".new"
	if err := os.WriteFile(unfinished, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
