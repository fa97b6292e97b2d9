-- A migration was applied. $1: version, $2: name, $3: checksum.
insert into muster.schema_migrations (version, name, checksum) values ($1::integer, $2::text, $3::text);
