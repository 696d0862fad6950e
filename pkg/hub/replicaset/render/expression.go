package render

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	celapi "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// MaxCost is what one expression may cost on one cluster, in CEL's units. Kubernetes takes a million
// of them for 0.1 s (https://github.com/kubernetes/kubernetes/blob/v1.34.4/staging/src/k8s.io/apiserver/pkg/apis/cel/config.go),
// so this is about 1 ms. A step of a macro over labels or claims costs about five units.
const MaxCost = 10_000

// clusterVariable is the variable of expressions.
const clusterVariable = "cluster"

// environment returns the language of expressions, which restrict limits further.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	base, err := cel.NewEnv(append([]cel.EnvOption{
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		ext.Strings(ext.StringsVersion(0)),
	}, boundedStrings()...)...)
	if err != nil {
		return nil, fmt.Errorf("create a CEL environment: %w", err)
	}
	provider, err := celapi.NewDeclTypeProvider(clusterType).WithTypeProvider(base.CELTypeProvider())
	if err != nil {
		return nil, fmt.Errorf("declare the type of clusters in CEL: %w", err)
	}
	env, err := base.Extend(
		cel.CustomTypeProvider(provider),
		cel.CustomTypeAdapter(sortedMaps{provider}),
		cel.Variable(clusterVariable, clusterType.CelType()),
	)
	if err != nil {
		return nil, fmt.Errorf("declare the variable %s in CEL: %w", clusterVariable, err)
	}
	return env, nil
})

// compileExpression returns the program of an expression whose result is a string.
func compileExpression(expression string) (cel.Program, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, errors.New(describe(issues.Errors()))
	}
	if !checked.OutputType().IsExactType(cel.StringType) {
		return nil, fmt.Errorf("the result is of type %s, and has to be a string", checked.OutputType())
	}
	if err := restrict(checked.NativeRep()); err != nil {
		return nil, err
	}
	program, err := env.Program(checked,
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostTracking(&library.CostEstimator{}),
		cel.CostLimit(MaxCost),
	)
	if err != nil {
		return nil, fmt.Errorf("create the program: %w", err)
	}
	return program, nil
}

// describe returns CEL's problems in one line. issues.String() has a picture of several lines.
func describe(issues []*cel.Error) string {
	var problems []string
	for _, issue := range issues {
		if issue.Location.Line() < 1 {
			problems = append(problems, issue.Message) // about the whole expression
			continue
		}
		problems = append(problems, fmt.Sprintf("line %d, column %d: %s", issue.Location.Line(), issue.Location.Column()+1, issue.Message))
	}
	return strings.Join(problems, "; ")
}

// evaluate returns the result of a program on a cluster as viewOf returns it.
func evaluate(program cel.Program, cluster map[string]any) (string, error) {
	result, _, err := program.Eval(map[string]any{clusterVariable: cluster})
	if err != nil {
		return "", err
	}
	value, ok := result.(types.String)
	if !ok {
		return "", fmt.Errorf("the result is of type %s, and has to be a string", result.Type().TypeName())
	}
	return string(value), nil
}
