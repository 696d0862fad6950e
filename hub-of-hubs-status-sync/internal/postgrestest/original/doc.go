// Package original is the database of the original hub of hubs, for tests and benchmarks: its schema, its users' rights, and
// the statements by which its transport bridge writes.
//
// Both are facts of public sources, written down anew. The Go module proxy does not have these modules, so no test compares
// them; the sources are:
//
//   - schema and rights: https://github.com/stolostron/hub-of-hubs-postgresql/tree/main/roles/create_tables/tasks, with
//     create_status_tables.yaml at 5cb4d3e, create_spec_tables.yaml at 7d9d804 and set_authorization.yaml at 98918e5
//   - statements: https://github.com/stolostron/hub-of-hubs-status-transport-bridge/tree/main/pkg/db/postgresql/batch, with
//     base_batch_builder.go at 076d065, policies_batch_builder.go at a9d51cc and generic_batch_builder.go at fdf5c85
//   - the heartbeat: UpdateHeartbeat in manager/pkg/statussyncer/transport2db/db/postgresql/postgresql.go of
//     https://github.com/stolostron/multicluster-global-hub, to which the bridge moved
package original
