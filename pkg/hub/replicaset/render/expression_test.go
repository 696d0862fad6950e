package render

import (
	"fmt"
	"strings"
	"testing"
	"time"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
)

func TestExpression(t *testing.T) {
	tests := []struct{ name, expression, want string }{
		{"name", "'https://' + cluster.metadata.name + '.example.com'", "https://cluster1.example.com"},
		{"label", "cluster.metadata.labels.region", "us"},
		{"label with another key", "cluster.metadata.labels['region']", "us"},
		{"label with default", "cluster.metadata.labels[?'zone'].orValue('a')", "a"},
		{"label that is there, with default", "cluster.metadata.labels[?'region'].orValue('a')", "us"},
		{"label exists", "has(cluster.metadata.labels.zone) ? 'yes' : 'no'", "no"},
		{"label in", "'region' in cluster.metadata.labels ? 'yes' : 'no'", "yes"},
		{"table", "{'us': 'dollar', 'eu': 'euro'}[cluster.metadata.labels.region]", "dollar"},
		{"annotation", "cluster.metadata.annotations.note.split(',').map(x, x.trim()).join('+')", "a+b"},
		{"claim", "cluster.status.clusterClaims.filter(c, c.name == 'id.k8s.io')[0].value", "c1"},
		{"claim exists", "cluster.status.clusterClaims.exists(c, c.name == 'x') ? 'yes' : 'no'", "no"},
		{"taint", "cluster.spec.taints.filter(t, t.key == 'gpu').map(t, t.value + t.effect).join()", "a100NoSelect"},
		{"url", "cluster.spec.managedClusterClientConfigs[0].url", "https://api:6443"},
		{"version", "cluster.status.version.?kubernetes.orValue('none').substring(1)", "1.34.4"},
		{"number", "string(size(cluster.metadata.labels) * 2)", "4"},
		{"replace", "cluster.metadata.name.replace('cluster', 'c')", "c1"},
		{"replace some", "'aaa'.replace('a', 'bb', 2)", "bbbba"},
		{"replace all", "'aaa'.replace('a', 'bb', -1)", "bbbbbb"},
		{"replace nothing", "'aaa'.replace('a', 'bb', 0)", "aaa"},
		{"replace the empty text", "'ab'.replace('', '-')", "-a-b-"},
		{"join", "['a', 'b'].join('--')", "a--b"},
		{"join none", "['a'].filter(x, false).join('-')", ""},
		{"lists", "(['a'] + cluster.metadata.labels.map(k, k) + ['b']).join(',')", "a,empty,region,b"},
		{"compare with a value of any type", "{'a': 1, 'b': 'x'}['b'] == 'x' ? 'yes' : 'no'", "yes"},
		{"case", "cluster.metadata.name.upperAscii()", "CLUSTER1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			program, err := compileExpression(test.expression)
			if err != nil {
				t.Fatal(err)
			}
			got, err := evaluate(program, viewOf(cluster1()))
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestExpressionRefused(t *testing.T) {
	tests := []struct{ name, expression, want string }{
		{"syntax", "'a' +", "line 1, column 6: Syntax error"},
		{"variable", "managedCluster.metadata.name", "line 1, column 1: undeclared reference to 'managedCluster'"},
		{"field", "cluster.metadata.nme", "line 1, column 17: undefined field 'nme'"},
		{"what is not exposed", "cluster.status.capacity['cpu']", "undefined field 'capacity'"},
		{"a credential", "cluster.spec.managedClusterClientConfigs[0].caBundle", "undefined field 'caBundle'"},
		{"two problems", "a + b", "undeclared reference to 'a' (in container ''); line 1, column 5: undeclared reference to 'b'"},
		{"number", "1", "the result is of type int, and has to be a string"},
		{"no type", "dyn('x')", "the result is of type dyn, and has to be a string"},
		{"time", "string(now())", "undeclared reference to 'now'"},
		{"deep", strings.Repeat("(", 1000) + "''" + strings.Repeat(")", 1000), "expression recursion limit exceeded"},
		{"format", "'%.999999f'.format([1.0])", "undeclared reference to 'format'"},
		{"regular expression", "'a'.matches('a') ? 'a' : 'b'", "function matches is not available"},
		{"indexOf", "string('a'.indexOf('a'))", "function indexOf is not available"},
		{"compare lists", "[1] == [1] ? 'a' : 'b'", "== compares only texts, numbers and booleans"},
		{"compare what contains itself", "[[1]].map(v, [v, v]).map(v, v != v)[0] ? 'a' : 'b'", "!= compares only texts, numbers and booleans"},
		{"compare something with a list", "{'a': [1]}['a'] == [1] ? 'a' : 'b'", "== compares only"},
		{"find a list", "[1] in [[1]] ? 'a' : 'b'", "in finds only texts, numbers and booleans"},
		{"double a list", "string(size([[1]].map(v, v + v)[0]))", "+ of two lists needs one that is written out"},
		{"double a list without type", "string(size([[1], 'a', 1.0].map(v, v + v)[0]))", "+ of two lists needs one that is written out"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := compileExpression(test.expression); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "line -1") {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestExpressionLimits: what a team writes must not stop the controller, which works for all teams.
func TestExpressionLimits(t *testing.T) {
	loop := func(n int) string {
		return fmt.Sprintf("[%s'']", strings.Repeat("'', ", n-1))
	}
	tests := []struct{ name, expression, want string }{
		{"loops in loops", fmt.Sprintf("%[1]s.all(a, %[1]s.all(b, %[1]s.all(c, true))) ? 'a' : 'b'", loop(50)), "cost limit exceeded"},
		{"double a text", "['a']" + strings.Repeat(".map(v, v + v)", 60) + "[0]", "cost limit exceeded"},
		{"replace in replace", "['0123456789']" + strings.Repeat(".map(v, v.replace('', v))", 20) + "[0]", "replace: the result has more than 4096 bytes"},
		{"replace some in replace", "['0123456789']" + strings.Repeat(".map(v, v.replace('', v, 9))", 20) + "[0]", "replace: the result has more than 4096 bytes"},
		{"replace all in replace", "['0123456789']" + strings.Repeat(".map(v, v.replace('', v, -1))", 20) + "[0]", "replace: the result has more than 4096 bytes"},
		{"join in join", "['0123456789']" + strings.Repeat(".map(v, v.split('').join(v))", 20) + "[0]", "join: the result has more than 4096 bytes"},
		{"join what is long", "['0123456789']" + strings.Repeat(".map(v, [v, v].join())", 20) + "[0]", "join: the result has more than 4096 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			program, err := compileExpression(test.expression)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := evaluate(program, viewOf(cluster1())); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestExpressionOrder: a map has the same order at every look, also one that an expression writes.
func TestExpressionOrder(t *testing.T) {
	cluster := &clusterv1.ManagedCluster{}
	cluster.Labels = map[string]string{}
	literal, want := []string{}, []string{}
	for i := range 20 {
		key := fmt.Sprintf("k%02d", i)
		cluster.Labels[key] = ""
		literal, want = append(literal, fmt.Sprintf("'%s': 1", key)), append(want, key)
	}
	for name, expression := range map[string]string{
		"labels":  "cluster.metadata.labels.map(k, k).join(' ')",
		"literal": "{" + strings.Join(literal, ", ") + "}.map(k, k).join(' ')",
		"nested":  "[{" + strings.Join(literal, ", ") + "}].map(m, m.map(k, k).join(' '))[0]",
		"filter":  "cluster.metadata.labels.filter(k, true).join(' ')",
	} {
		program, err := compileExpression(expression)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if got, err := evaluate(program, viewOf(cluster)); err != nil || got != strings.Join(want, " ") {
				t.Errorf("%s: got %s, %v", name, got, err)
			}
		}
	}
	const mixed = "{2: 'd', 'b': 'g', 1: 'c', true: 'b', 'a': 'f', 3u: 'h', false: 'a', 'c': 'i'}"
	program, err := compileExpression(mixed + ".map(k, string(k)).join(' ')")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := evaluate(program, viewOf(cluster)); err != nil || got != "false true 1 2 a b c 3" {
		t.Errorf("got %s, %v", got, err)
	}
}

// FuzzExpression compiles and evaluates any expression: it does not panic, takes no long time, and
// gives the same result twice.
func FuzzExpression(f *testing.F) {
	for _, expression := range []string{"", "'a'", "cluster.metadata.name", "cluster.metadata.labels.map(k, k).join(',')", "cluster.status.clusterClaims.filter(c, c.name == 'x')[0].value",
		"cluster.metadata.labels[?'a'].orValue('b')", "['a'].map(v, v.replace('', v))[0]", "1 in [1] ? 'a' : 'b'", "{'a': 'b'}['a']", "string(1 / 0)"} {
		f.Add(expression)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		program, err := compileExpression(expression)
		if err != nil {
			return
		}
		began := time.Now()
		first, err1 := evaluate(program, viewOf(cluster1()))
		second, err2 := evaluate(program, viewOf(cluster1()))
		if first != second || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Errorf("first %q, %v, then %q, %v", first, err1, second, err2)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %s", took)
		}
	})
}
