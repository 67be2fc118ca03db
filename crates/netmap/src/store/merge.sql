-- Takes over what another map (attached as `other`) has and this one has not. A result is known by
-- who measured whom when; of places and attempts the newer is kept.

INSERT OR IGNORE INTO hosts (name) SELECT name FROM other.hosts;
INSERT OR IGNORE INTO autonomous_systems SELECT * FROM other.autonomous_systems;
INSERT OR IGNORE INTO address_blocks (prefix, autonomous_system)
    SELECT prefix, autonomous_system FROM other.address_blocks;
INSERT OR IGNORE INTO addresses (address) SELECT address FROM other.addresses;
INSERT OR IGNORE INTO cities (name, country) SELECT name, country FROM other.cities;
INSERT INTO sources (name, latitude, longitude)
    SELECT name, latitude, longitude FROM other.sources WHERE true
    ON CONFLICT (name) DO UPDATE SET
        latitude = coalesce(latitude, excluded.latitude),
        longitude = coalesce(longitude, excluded.longitude);

-- ids of the other map, and what they are here
CREATE TEMP TABLE address_here AS
    SELECT o.id AS there, m.id AS here, o.block AS block
    FROM other.addresses o JOIN main.addresses m ON m.address = o.address;
CREATE UNIQUE INDEX temp.address_there ON address_here (there);
CREATE TEMP TABLE source_here AS
    SELECT o.id AS there, m.id AS here FROM other.sources o JOIN main.sources m ON m.name = o.name;

UPDATE addresses SET block = (
        SELECT m.id FROM address_here a JOIN other.address_blocks o ON o.id = a.block
        JOIN main.address_blocks m ON m.prefix = o.prefix WHERE a.here = addresses.id)
    WHERE block IS NULL AND id IN (SELECT here FROM address_here WHERE block IS NOT NULL);
INSERT OR IGNORE INTO host_addresses
    SELECT m.id, a.here FROM other.host_addresses x
    JOIN other.hosts o ON o.id = x.host JOIN main.hosts m ON m.name = o.name
    JOIN address_here a ON a.there = x.address;
INSERT OR IGNORE INTO targets
    SELECT x.name, a.here FROM other.targets x JOIN address_here a ON a.there = x.address;
INSERT INTO attempts
    SELECT s.here, a.here, x.kind, x.at FROM other.attempts x
    JOIN source_here s ON s.there = x.source JOIN address_here a ON a.there = x.address WHERE true
    ON CONFLICT DO UPDATE SET at = max(at, excluded.at);
INSERT INTO places
    SELECT a.here, x.heuristic, x.latitude, x.longitude, c.id, x.at FROM other.places x
    JOIN address_here a ON a.there = x.address
    LEFT JOIN other.cities o ON o.id = x.city
    LEFT JOIN main.cities c ON c.name = o.name AND c.country = o.country WHERE true
    ON CONFLICT DO UPDATE SET latitude = excluded.latitude, longitude = excluded.longitude,
        city = excluded.city, at = excluded.at WHERE excluded.at > at;

-- new results get ids after those that are here
CREATE TEMP TABLE result_here AS
    SELECT e.id AS there, s.here AS source, a.here AS address,
        e.id + (SELECT coalesce(max(id), 0) FROM main.end_to_end) AS here
    FROM other.end_to_end e
    JOIN source_here s ON s.there = e.source JOIN address_here a ON a.there = e.address
    WHERE NOT EXISTS (SELECT 1 FROM main.end_to_end m
        WHERE m.source = s.here AND m.address = a.here AND m.at = e.at);
INSERT INTO end_to_end
    SELECT r.here, r.source, r.address, e.at, e.method, e.sent, e.answered, e.median_ms
    FROM result_here r JOIN other.end_to_end e ON e.id = r.there;
INSERT INTO rtt_samples
    SELECT r.here, x.number, x.rtt_ms FROM result_here r
    JOIN other.rtt_samples x ON x.result = r.there;
CREATE TEMP TABLE route_here AS
    SELECT e.id AS there, s.here AS source, a.here AS address,
        e.id + (SELECT coalesce(max(id), 0) FROM main.routes) AS here
    FROM other.routes e
    JOIN source_here s ON s.there = e.source JOIN address_here a ON a.there = e.address
    WHERE NOT EXISTS (SELECT 1 FROM main.routes m
        WHERE m.source = s.here AND m.address = a.here AND m.at = e.at);
INSERT INTO routes
    SELECT r.here, r.source, r.address, e.at, e.method, e.reached
    FROM route_here r JOIN other.routes e ON e.id = r.there;
INSERT INTO hops
    SELECT r.here, x.hop, a.here, x.rtt_ms FROM route_here r
    JOIN other.hops x ON x.route = r.there LEFT JOIN address_here a ON a.there = x.address;

DROP TABLE temp.address_here;
DROP TABLE temp.source_here;
DROP TABLE temp.result_here;
DROP TABLE temp.route_here;
