package render

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/util/sets"
)

// allowed are the operators and functions of expressions. CEL counts the cost of a call after it, so
// one call must not be able to take long or to fill the memory. For example matches, indexOf and
// format could. There is no function of the time: the same cluster has the same result.
var allowed = sets.New(
	operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional, operators.NotStrictlyFalse,
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.In,
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.Index, operators.OptIndex, operators.OptSelect, "orValue", "hasValue",
	"size", "string", "int", "double", "startsWith", "endsWith", "contains",
	"charAt", "join", "lowerAscii", "replace", "split", "substring", "trim", "upperAscii",
)

// scalars are the types with which == and in compare. To compare lists of lists can take for ever:
// [[1]].map(v, [v, v]), 50 times, has 2^50 elements.
var scalars = sets.New(types.BoolKind, types.BytesKind, types.DoubleKind, types.IntKind, types.StringKind, types.UintKind)

// restrict returns an error for the first call that expressions may not have.
func restrict(checked *ast.AST) error {
	var problem error
	ast.PostOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if problem == nil && e.Kind() == ast.CallKind {
			problem = restrictCall(e.AsCall(), checked)
		}
	}))
	return problem
}

func restrictCall(call ast.CallExpr, checked *ast.AST) error {
	kind := func(arg int) types.Kind { return checked.GetType(call.Args()[arg].ID()).Kind() }
	switch name := call.FunctionName(); {
	case !allowed.Has(name):
		return fmt.Errorf("function %s is not available", name)
	case (name == operators.Equals || name == operators.NotEquals) && !scalars.Has(kind(0)) && !scalars.Has(kind(1)):
		return fmt.Errorf("%s compares only texts, numbers and booleans", strings.Trim(name, "_"))
	case name == operators.In && !scalars.Has(kind(0)):
		return fmt.Errorf("in finds only texts, numbers and booleans")
	// The macros map and filter add one element at a time. v + v would double a list.
	case name == operators.Add && (kind(0) == types.ListKind || kind(0) == types.DynKind) &&
		call.Args()[0].Kind() != ast.ListKind && call.Args()[1].Kind() != ast.ListKind:
		return fmt.Errorf("+ of two lists needs one that is written out, for example list + ['a']")
	}
	return nil
}

// boundedStrings replaces the functions that can make a long string of short ones by such that make
// at most MaxValue bytes.
func boundedStrings() []cel.EnvOption {
	text, list := cel.StringType, cel.ListType(cel.StringType)
	return []cel.EnvOption{
		cel.Function("replace",
			cel.MemberOverload("string_replace_string_string", []*cel.Type{text, text, text}, text, cel.FunctionBinding(replace)),
			cel.MemberOverload("string_replace_string_string_int", []*cel.Type{text, text, text, cel.IntType}, text, cel.FunctionBinding(replace))),
		cel.Function("join",
			cel.MemberOverload("list_join", []*cel.Type{list}, text, cel.UnaryBinding(func(l ref.Val) ref.Val { return join(l, types.String("")) })),
			cel.MemberOverload("list_join_string", []*cel.Type{list, text}, text, cel.BinaryBinding(join))),
	}
}

// replace is strings.Replace of (text, old, new, n); n is optional.
func replace(args ...ref.Val) ref.Val {
	text, before, after := string(args[0].(types.String)), string(args[1].(types.String)), string(args[2].(types.String))
	n := strings.Count(text, before)
	if len(args) == 4 {
		if most := args[3].(types.Int); most >= 0 && most < types.Int(n) {
			n = int(most)
		}
	}
	if len(text)+n*(len(after)-len(before)) > MaxValue {
		return types.NewErr("replace: the result has more than %d bytes", MaxValue)
	}
	return types.String(strings.Replace(text, before, after, n))
}

// join is strings.Join.
func join(list, separator ref.Val) ref.Val {
	var joined strings.Builder
	for it := list.(traits.Lister).Iterator(); it.HasNext() == types.True; {
		element, ok := it.Next().(types.String)
		if !ok {
			return types.NewErr("join: the list has an element that is no string")
		}
		joined.WriteString(string(element))
		if it.HasNext() == types.True {
			joined.WriteString(string(separator.(types.String)))
		}
		if joined.Len() > MaxValue {
			return types.NewErr("join: the result has more than %d bytes", MaxValue)
		}
	}
	return types.String(joined.String())
}
