-- The map, in tables that a person can query. Times are seconds since 1970 (UTC), RTTs milliseconds.

CREATE TABLE IF NOT EXISTS hosts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE IF NOT EXISTS autonomous_systems (
    number INTEGER PRIMARY KEY,
    organisation TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS address_blocks (
    id INTEGER PRIMARY KEY,
    prefix TEXT NOT NULL UNIQUE,
    autonomous_system INTEGER REFERENCES autonomous_systems (number)
) STRICT;

CREATE TABLE IF NOT EXISTS addresses (
    id INTEGER PRIMARY KEY,
    address TEXT NOT NULL UNIQUE,
    block INTEGER REFERENCES address_blocks (id)
) STRICT;

CREATE TABLE IF NOT EXISTS host_addresses (
    host INTEGER NOT NULL REFERENCES hosts (id),
    address INTEGER NOT NULL REFERENCES addresses (id),
    PRIMARY KEY (host, address)
) STRICT, WITHOUT ROWID;

-- Who was to be measured, as it was called: a name, or the address itself. Addresses have other
-- names too, which nobody asked for.
CREATE TABLE IF NOT EXISTS targets (
    name TEXT NOT NULL,
    address INTEGER NOT NULL REFERENCES addresses (id),
    PRIMARY KEY (name, address)
) STRICT, WITHOUT ROWID;

-- Who measures: one robot, one name.
CREATE TABLE IF NOT EXISTS sources (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    latitude REAL,
    longitude REAL
) STRICT;

-- Written before the first packet leaves, so that a target is left alone even after a crash.
CREATE TABLE IF NOT EXISTS attempts (
    source INTEGER NOT NULL REFERENCES sources (id),
    address INTEGER NOT NULL REFERENCES addresses (id),
    kind TEXT NOT NULL CHECK (kind IN ('probe', 'trace')),
    at REAL NOT NULL,
    PRIMARY KEY (source, address, kind)
) STRICT, WITHOUT ROWID;

-- What probing a target gave in all.
CREATE TABLE IF NOT EXISTS end_to_end (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES sources (id),
    address INTEGER NOT NULL REFERENCES addresses (id),
    at REAL NOT NULL,
    method TEXT NOT NULL,
    sent INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    median_ms REAL
) STRICT;
CREATE INDEX IF NOT EXISTS end_to_end_by_pair ON end_to_end (source, address, at);

-- Each packet of it; no RTT where there was no answer.
CREATE TABLE IF NOT EXISTS rtt_samples (
    result INTEGER NOT NULL REFERENCES end_to_end (id),
    number INTEGER NOT NULL,
    rtt_ms REAL,
    PRIMARY KEY (result, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS routes (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES sources (id),
    address INTEGER NOT NULL REFERENCES addresses (id),
    at REAL NOT NULL,
    method TEXT NOT NULL,
    reached INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS routes_by_pair ON routes (source, address, at);

CREATE TABLE IF NOT EXISTS hops (
    route INTEGER NOT NULL REFERENCES routes (id),
    hop INTEGER NOT NULL,
    address INTEGER REFERENCES addresses (id),
    rtt_ms REAL,
    PRIMARY KEY (route, hop)
) STRICT, WITHOUT ROWID;

-- Without a name where only the country is known.
CREATE TABLE IF NOT EXISTS cities (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    country TEXT NOT NULL,
    UNIQUE (name, country)
) STRICT;

-- What each heuristic says about an address, or about a name of it.
CREATE TABLE IF NOT EXISTS places (
    address INTEGER NOT NULL REFERENCES addresses (id),
    heuristic TEXT NOT NULL,
    latitude REAL NOT NULL,
    longitude REAL NOT NULL,
    city INTEGER REFERENCES cities (id),
    at REAL NOT NULL,
    PRIMARY KEY (address, heuristic)
) STRICT, WITHOUT ROWID;
