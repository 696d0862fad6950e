package render

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
)

// MaxEncoded is how many bytes an encoded Revision may have. etcd accepts requests of 1.5 MiB
// (https://etcd.io/docs/v3.6/dev-guide/limit/); 128 KiB of them are left for the metadata of the
// ControllerRevision. One ConfigMap with 1 MiB of binaryData fits: in base64 it is 1.34 MiB.
const MaxEncoded = 1<<20 + 384<<10

// ErrTooLarge is the error of a Revision that exceeds MaxEncoded.
var ErrTooLarge = errors.New("the sources are too large for one revision")

// ErrNotText is the error of a Revision with data that is not UTF-8. The API server accepts it from a client that
// does not use JSON. JSON has no such text, so clusters would never hold what the source holds.
var ErrNotText = errors.New("data is not UTF-8")

// Revision is what a set delivers: its sources and the definitions of its values. What the values
// are on a cluster is not part of it.
type Revision struct {
	Sources []Content        `json:"configMaps"`
	Values  []v1alpha1.Value `json:"values,omitempty"`
}

// NewRevision returns the revision of sources and values. Both are sorted by name: their order in
// the spec has no meaning, so a change of the order is no new revision.
func NewRevision(sources []Content, values []v1alpha1.Value) Revision {
	r := Revision{Sources: slices.Clone(sources), Values: slices.Clone(values)}
	slices.SortFunc(r.Sources, func(a, b Content) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Values, func(a, b v1alpha1.Value) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// Encode returns the revision as the data of a ControllerRevision, and the hash that names it, in
// 16 hexadecimal digits. The error is an ErrTooLarge or an ErrNotText.
//
// The API server may write the same JSON in another way. So the hash of a stored revision is that
// of its decoded Revision, encoded again.
func (r Revision) Encode() (data runtime.RawExtension, hash string, err error) {
	for _, source := range r.Sources {
		for _, key := range slices.Sorted(maps.Keys(source.Data)) {
			if !utf8.ValidString(source.Data[key]) {
				return runtime.RawExtension{}, "", fmt.Errorf("%w: ConfigMap %s, key %s; use binaryData", ErrNotText, source.Name, key)
			}
		}
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	// Otherwise each < and > of a source takes six bytes.
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return runtime.RawExtension{}, "", fmt.Errorf("encode a revision: %w", err)
	}
	raw := bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
	if len(raw) > MaxEncoded {
		return runtime.RawExtension{}, "", fmt.Errorf("%w: they have %d bytes, and %d as JSON, of at most %d; use several sets",
			ErrTooLarge, r.size(), len(raw), MaxEncoded)
	}
	sum := sha256.Sum256(raw)
	return runtime.RawExtension{Raw: raw}, digits(sum[:]), nil
}

// Decode returns the revision that Encode has encoded.
func Decode(data runtime.RawExtension) (Revision, error) {
	var r Revision
	if err := json.Unmarshal(data.Raw, &r); err != nil {
		return Revision{}, fmt.Errorf("decode a revision: %w", err)
	}
	return NewRevision(r.Sources, r.Values), nil
}

// size returns the bytes of the sources' content.
func (r Revision) size() int {
	size := 0
	for _, source := range r.Sources {
		size += source.Size()
	}
	return size
}
