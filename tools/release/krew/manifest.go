// Package krew writes the manifest by which krew, the plugin manager of kubectl,
// installs a plugin. It builds nothing and publishes nothing.
package krew

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/krew/pkg/constants"
	"sigs.k8s.io/krew/pkg/index"
	"sigs.k8s.io/yaml"
)

// A Plugin is a program kubectl-NAME, for one or more platforms.
type Plugin struct {
	Name        string // as users name it to krew and to kubectl
	Short       string // one line
	Description string
	Homepage    string
	Caveats     string // krew prints it after the installation
}

// An Archive has the plugin's program for one platform, and the license, at its top.
type Archive struct {
	Name     string // of the file
	SHA256   string // in hexadecimal
	OS, Arch string // as Go names them, which is as krew does
}

// Program returns the name of the plugin's program, but for its extension.
func (p Plugin) Program() string { return "kubectl-" + p.Name }

// File returns the name that the manifest's file has to have.
func (p Plugin) File() string { return p.Name + constants.ManifestExtension }

// Manifest returns the manifest of the plugin at a version such as v0.1.0. The
// archives are downloaded from the URL base, followed by a slash and their names.
// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
func (p Plugin) Manifest(version, base string, archives []Archive) ([]byte, error) {
	platforms := make([]index.Platform, 0, len(archives))
	for _, a := range archives {
		bin := p.Program()
		if a.OS == "windows" {
			bin += ".exe"
		}
		platforms = append(platforms, index.Platform{
			URI:      base + "/" + a.Name,
			Sha256:   a.SHA256,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"os": a.OS, "arch": a.Arch}},
			Files:    []index.FileOperation{{From: "*", To: "."}},
			Bin:      bin,
		})
	}
	return yaml.Marshal(index.Plugin{
		TypeMeta:   metav1.TypeMeta{APIVersion: constants.CurrentAPIVersion, Kind: constants.PluginKind},
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: index.PluginSpec{
			Version: version, ShortDescription: p.Short, Description: p.Description, Caveats: p.Caveats, Homepage: p.Homepage,
			Platforms: platforms,
		},
	})
}
