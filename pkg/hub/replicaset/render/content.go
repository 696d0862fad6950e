package render

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// MaxContent is how many bytes the values of a ConfigMap's data and binaryData may have
// together; their keys do not count.
// https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/apis/core/validation/validation.go (ValidateConfigMap)
const MaxContent = corev1.MaxSecretSize

// Content is what a ConfigMap holds: before the expansion that of a source, after it that of a
// cluster's ConfigMap. Several Contents share their maps and byte slices, so these must not be
// changed.
type Content struct {
	Name       string            `json:"name"`
	Data       map[string]string `json:"data,omitempty"`
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
	// Immutable is false also where the ConfigMap has no such field.
	Immutable bool `json:"immutable,omitempty"`
}

// ContentOf returns what a ConfigMap holds. It shares the maps with the ConfigMap.
func ContentOf(configMap *corev1.ConfigMap) Content {
	return Content{
		Name:       configMap.Name,
		Data:       configMap.Data,
		BinaryData: configMap.BinaryData,
		Immutable:  configMap.Immutable != nil && *configMap.Immutable,
	}
}

// Size returns the number of bytes that MaxContent limits.
func (c Content) Size() int {
	size := 0
	for _, value := range c.Data {
		size += len(value)
	}
	for _, value := range c.BinaryData {
		size += len(value)
	}
	return size
}

// Sum returns a hash of the content in 16 hexadecimal digits: two Contents with the same Sum hold
// the same. A missing map and an empty one are the same.
func (c Content) Sum() string {
	h := sha256.New()
	writeField(h, c.Name)
	writeMap(h, c.Data)
	writeMap(h, c.BinaryData)
	if c.Immutable {
		writeField(h, "immutable")
	}
	return digits(h.Sum(nil))
}

// writeMap adds the number of entries, and the entries in the order of their keys.
func writeMap[V string | []byte](h hash.Hash, entries map[string]V) {
	_ = binary.Write(h, binary.BigEndian, uint64(len(entries))) // a hash never returns an error
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		writeField(h, key)
		writeField(h, string(entries[key]))
	}
}

// writeField adds a text and its length, so that ("ab", "c") and ("a", "bc") differ.
func writeField(h hash.Hash, text string) {
	_ = binary.Write(h, binary.BigEndian, uint64(len(text)))
	_, _ = io.WriteString(h, text)
}

// digits returns the first 64 bits of a hash in hexadecimal.
func digits(sum []byte) string { return hex.EncodeToString(sum[:8]) }
