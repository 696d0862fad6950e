package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestTranslateV4: URLs of the original's users.
func TestTranslateV4(t *testing.T) {
	const v5 = "default_query_exec_mode="
	for _, c := range []struct{ name, parameters, want, wrong string }{
		{name: "none of them"},
		{name: "a parameter of pgx v5 stays", parameters: "default_query_exec_mode=exec"},
		{name: "the default of pgx v4", parameters: "statement_cache_mode=prepare", want: v5 + "cache_statement"},
		{name: "behind a pooler", parameters: "statement_cache_mode=describe", want: v5 + "cache_describe"},
		{name: "no cache", parameters: "statement_cache_capacity=0", want: v5 + "describe_exec"},
		{name: "no cache, whatever its mode", parameters: "statement_cache_mode=describe&statement_cache_capacity=0", want: v5 + "describe_exec"},
		{name: "a size of the cache stays", parameters: "statement_cache_capacity=7"},
		{name: "a size of a cache that is not used stays", parameters: "statement_cache_capacity=0&default_query_exec_mode=cache_describe"},
		{name: "the simple protocol", parameters: "prefer_simple_protocol=true", want: v5 + "simple_protocol"},
		{name: "the simple protocol, whatever the cache", parameters: "statement_cache_mode=describe&prefer_simple_protocol=1", want: v5 + "simple_protocol"},
		{name: "not the simple protocol", parameters: "prefer_simple_protocol=false", want: v5 + "cache_statement"},
		{name: "an unknown mode", parameters: "statement_cache_mode=s3cret", wrong: "statement_cache_mode with a value other than prepare and describe"},
		{name: "neither true nor false", parameters: "prefer_simple_protocol=s3cret", wrong: "prefer_simple_protocol with a value other than true and false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := pgx.ParseConfig("postgres://user@host:5432/db?" + c.parameters)
			if err != nil {
				t.Fatal(err)
			}
			got, err := translateV4(config)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("got %v, want a message with %q", err, c.wrong)
				}
				hides(t, err, "s3cret")
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
			if len(config.RuntimeParams) > 0 {
				t.Errorf("the server gets %v", config.RuntimeParams)
			}
			// The mode as a parameter of pgx v5 has the same effect.
			if again, err := pgx.ParseConfig("postgres://user@host:5432/db?" + c.want); c.want != "" && (err != nil || again.DefaultQueryExecMode != config.DefaultQueryExecMode) {
				t.Errorf("the mode is %s, not %q: %v", config.DefaultQueryExecMode, c.want, err)
			}
		})
	}
}
