package plan

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// File is one file of a volume.
type File struct {
	// Path is relative to the volume.
	Path string
	Data []byte
	Mode fs.FileMode
	// UID and GID are the owner; nil means the node's own user and group.
	UID, GID *int64
}

// Kubernetes' default modes of files. Others cannot read a token, see token.
const (
	defaultFileMode = fs.FileMode(0o644)
	groupRead       = fs.FileMode(0o440)
	tokenMode       = fs.FileMode(0o600)
)

// Files returns the content of a volume made of files (secret, configMap,
// downwardAPI, projected), sorted by path. Where two sources of a projected volume
// have the same path, the later one wins. A missing required object or key is a
// *MissingError.
func Files(v corev1.Volume, in Inputs, tokens map[TokenRequest]Token) ([]File, error) {
	b := payloadBuilder{in: in, files: map[string]File{}, mode: defaultFileMode}
	var err error
	switch {
	case v.Secret != nil:
		b.setMode(v.Secret.DefaultMode)
		err = b.secret(v.Secret.SecretName, v.Secret.Items, v.Secret.Optional)
	case v.ConfigMap != nil:
		b.setMode(v.ConfigMap.DefaultMode)
		err = b.configMap(v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.DownwardAPI != nil:
		b.setMode(v.DownwardAPI.DefaultMode)
		err = b.downward(v.DownwardAPI.Items)
	case v.Projected != nil:
		b.setMode(v.Projected.DefaultMode)
		err = b.projected(v.Projected.Sources, tokens)
	default:
		err = fmt.Errorf("volume %q is not a volume of files", v.Name)
	}
	if err != nil {
		return nil, err
	}
	return b.sorted()
}

// HasFiles reports whether a volume's content comes from the API server.
func HasFiles(v corev1.Volume) bool {
	return v.Secret != nil || v.ConfigMap != nil || v.DownwardAPI != nil || v.Projected != nil
}

type payloadBuilder struct {
	in    Inputs
	files map[string]File
	mode  fs.FileMode
}

func (b *payloadBuilder) setMode(mode *int32) {
	if mode != nil {
		b.mode = fs.FileMode(*mode)
	}
}

func (b *payloadBuilder) add(path string, data []byte, mode *int32) {
	f := File{Path: filepath.Clean(path), Data: data, Mode: b.mode}
	if mode != nil {
		f.Mode = fs.FileMode(*mode)
	}
	if group := FSGroup(&b.in.Pod.Spec); group != nil {
		f.GID, f.Mode = group, f.Mode|groupRead
	}
	b.files[f.Path] = f
}

func (b *payloadBuilder) secret(name string, items []corev1.KeyToPath, optional *bool) error {
	ref := Reference{SecretKind, name}
	object, ok := b.in.Objects.Secrets[name]
	if !ok {
		return absent(b.in, optional, ref, "")
	}
	return b.keys(ref, object.Data, items, optional)
}

func (b *payloadBuilder) configMap(name string, items []corev1.KeyToPath, optional *bool) error {
	ref := Reference{ConfigMapKind, name}
	object, ok := b.in.Objects.ConfigMaps[name]
	if !ok {
		return absent(b.in, optional, ref, "")
	}
	data := make(map[string][]byte, len(object.Data)+len(object.BinaryData))
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	for key, value := range object.BinaryData {
		data[key] = value
	}
	return b.keys(ref, data, items, optional)
}

// keys adds a file for each item, or for every key if there are no items.
func (b *payloadBuilder) keys(ref Reference, data map[string][]byte, items []corev1.KeyToPath, optional *bool) error {
	if len(items) == 0 {
		for key, value := range data {
			b.add(key, value, nil)
		}
		return nil
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			if err := absent(b.in, optional, ref, item.Key); err != nil {
				return err
			}
			continue
		}
		b.add(item.Path, value, item.Mode)
	}
	return nil
}

func (b *payloadBuilder) downward(items []corev1.DownwardAPIVolumeFile) error {
	for _, item := range items {
		var value string
		var err error
		switch {
		case item.FieldRef != nil:
			value, err = fieldValue(b.in.Pod, b.in.At, item.FieldRef.FieldPath)
		case item.ResourceFieldRef != nil:
			var c corev1.Container
			if c, err = ContainerNamed(b.in.Pod, item.ResourceFieldRef.ContainerName, corev1.Container{}); err == nil {
				value, err = resourceValue(c, b.in.Allocatable, *item.ResourceFieldRef)
			}
		}
		if err != nil {
			return err
		}
		b.add(item.Path, []byte(value), item.Mode)
	}
	return nil
}

func (b *payloadBuilder) projected(sources []corev1.VolumeProjection, tokens map[TokenRequest]Token) error {
	for _, s := range sources {
		var err error
		switch {
		case s.Secret != nil:
			err = b.secret(s.Secret.Name, s.Secret.Items, s.Secret.Optional)
		case s.ConfigMap != nil:
			err = b.configMap(s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.Optional)
		case s.DownwardAPI != nil:
			err = b.downward(s.DownwardAPI.Items)
		case s.ServiceAccountToken != nil:
			err = b.token(s.ServiceAccountToken, tokens)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// token adds a service account token. As in kubelet, only the pod's user and fsGroup
// can read it if the pod sets them.
func (b *payloadBuilder) token(p *corev1.ServiceAccountTokenProjection, tokens map[TokenRequest]Token) error {
	t, ok := tokens[requestOf(p)]
	if !ok {
		return fmt.Errorf("no token for service account %q and audience %q", b.in.Pod.Spec.ServiceAccountName, p.Audience)
	}
	b.add(p.Path, []byte(t.Value), nil)
	f := b.files[filepath.Clean(p.Path)]
	if owner := fileOwner(&b.in.Pod.Spec); owner != nil {
		f.UID, f.Mode = owner, tokenMode
	}
	if f.GID != nil {
		f.Mode = tokenMode | groupRead
	}
	b.files[f.Path] = f
	return nil
}

// sorted returns the files, after it has checked every path: it must stay inside the
// volume, and not begin with two dots, which are reserved for the writer.
func (b *payloadBuilder) sorted() ([]File, error) {
	out := make([]File, 0, len(b.files))
	for path, f := range b.files {
		if !filepath.IsLocal(path) || path == "." || strings.HasPrefix(path, "..") {
			return nil, fmt.Errorf("path %q of a volume's file does not stay inside the volume", path)
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}
