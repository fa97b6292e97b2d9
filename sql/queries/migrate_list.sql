-- Migrations that were applied.
select version, name, checksum from muster.schema_migrations order by version;
