// Package postgrestest gives tests, benchmarks and demonstrations a PostgreSQL server: one of its own from the machine's
// initdb and postgres, or the one that TEST_DATABASE_URL names. It is no part of the product.
//
// A server of its own has a throw-away data directory and a free port of the loopback address (or another address of this
// machine, and with TLS, where that is asked for), runs as an unprivileged
// user when it is started by root (PostgreSQL refuses root), and ends with the process that started it.
package postgrestest
