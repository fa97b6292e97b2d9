-- The cluster gets its number and its watermark when it feeds this database for the first time. $1: cluster id.
with added as (
  insert into muster.clusters (cluster_id) select $1::text
  where not exists (select from muster.clusters where cluster_id = $1::text)
  on conflict do nothing returning cluster)
insert into muster.feed (cluster, seq, epoch)
select cluster, 0, 0 from added
union all
select c.cluster, 0, 0 from muster.clusters c
where c.cluster_id = $1::text and not exists (select from muster.feed f where f.cluster = c.cluster)
on conflict do nothing;
