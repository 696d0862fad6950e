package mirror

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
)

// Digest stands for the data and binary data of a ConfigMap: two ConfigMaps
// with the same content have the same digest. It lets the cache hold 32 bytes
// instead of a copy's content.
type Digest [sha256.Size]byte

// DigestOf makes no difference between a map that is absent and one that is
// empty, as the API makes none.
func DigestOf(data map[string]string, binaryData map[string][]byte) Digest {
	h := sha256.New()
	writeNumber(h, len(data))
	for _, key := range slices.Sorted(maps.Keys(data)) {
		writePart(h, key)
		writePart(h, data[key])
	}
	writeNumber(h, len(binaryData))
	for _, key := range slices.Sorted(maps.Keys(binaryData)) {
		writePart(h, key)
		writePart(h, string(binaryData[key]))
	}
	return Digest(h.Sum(nil))
}

// writePart puts the length first, so that no two contents read the same.
func writePart(h hash.Hash, part string) {
	writeNumber(h, len(part))
	h.Write([]byte(part))
}

func writeNumber(h hash.Hash, n int) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
}
