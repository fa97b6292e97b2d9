-- The cluster's number and the versions of the schema. $1: cluster id.
select cluster, (select max(version) from muster.schema_migrations) from muster.clusters where cluster_id = $1::text;
