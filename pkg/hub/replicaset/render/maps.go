package render

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// sortedMaps makes an expression see the entries of a map in the order of their keys. cel-go sees
// them in the order of Go's maps, which is random: for example labels.map(k, k).join(',') would
// give another text at every look, and the cluster's ConfigMap would be written again and again.
type sortedMaps struct{ types.Adapter }

// NativeToValue returns the CEL value of a Go value.
func (a sortedMaps) NativeToValue(value any) ref.Val {
	switch value := value.(type) {
	case map[string]string:
		return sortedMap{types.NewStringStringMap(a, value)}
	case map[string]any:
		return sortedMap{types.NewStringInterfaceMap(a, value)}
	case map[ref.Val]ref.Val:
		return sortedMap{types.NewRefValMap(a, value)}
	case []any:
		return types.NewDynamicList(a, value)
	}
	return a.Adapter.NativeToValue(value)
}

// sortedMap is a map whose iterator is sorted. It has no method Fold, so cel-go uses Iterator.
type sortedMap struct{ traits.Mapper }

// Iterator returns an iterator over the keys.
func (m sortedMap) Iterator() traits.Iterator {
	var keys []ref.Val
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return types.NewRefValList(types.DefaultTypeAdapter, keys).Iterator()
}

// compareKeys orders keys by type and value. A CEL map has keys of the types string, bool, int and
// uint, which compare with their own type.
func compareKeys(a, b ref.Val) int {
	if byType := cmp.Compare(a.Type().TypeName(), b.Type().TypeName()); byType != 0 {
		return byType
	}
	comparer, ok := a.(traits.Comparer)
	if !ok {
		return 0
	}
	order, _ := comparer.Compare(b).(types.Int)
	return int(order)
}
