// Package postgrestest provides a PostgreSQL server for tests, benchmarks and demonstrations: a temporary one from the
// machine's initdb and postgres, or the one that TEST_DATABASE_URL names. The product does not use it.
//
// A temporary server has its own data directory and a free port of the loopback address, or of another address of this
// machine, with TLS where the options ask for it. It runs as an unprivileged user if root starts it, because PostgreSQL
// rejects root. It ends with the process that started it.
package postgrestest
