-- Ten times the jobs of a cluster: copies of what bench_feed wrote, with later seqs and job numbers. :cluster is its
-- name; nodes and devices stay as they are.
begin;
create temp table span on commit drop as
  select c.cluster, f.seq as seqs, (select max(job) from muster.submissions s where s.cluster = c.cluster) as jobs
  from muster.clusters c join muster.feed f using (cluster) where c.cluster_id = :'cluster';
create temp table copies on commit drop as
  select cluster, i * seqs as seqs, i * jobs as jobs from span, generate_series(1, 9) i;

insert into muster.submissions
  select s.cluster, s.seq + c.seqs, s.ordinal, s.epoch, s.at_us, s.wall, s.job + c.jobs, s.uid, s.gid, s.user_name,
    s.account, s.queue, s.name, s.request, s.request_index, s.host, s.time_limit_us, s.priority, s.is_array, s.nodes,
    s.tasks, s.cpus, s.memory_mib, s.gpus, s.gpu_milli, s.gpu_types
  from muster.submissions s join copies c using (cluster);
insert into muster.attempts_started
  select s.cluster, s.seq + c.seqs, s.ordinal, s.epoch, s.at_us, s.wall, s.job + c.jobs, s.element, s.attempt,
    s.generation
  from muster.attempts_started s join copies c using (cluster);
insert into muster.attempts_launched
  select s.cluster, s.seq + c.seqs, s.ordinal, s.epoch, s.at_us, s.wall, s.job + c.jobs, s.element, s.attempt,
    s.master_address
  from muster.attempts_launched s join copies c using (cluster);
insert into muster.attempts_ended
  select s.cluster, s.seq + c.seqs, s.ordinal, s.epoch, s.at_us, s.wall, s.job + c.jobs, s.element, s.attempt,
    s.cause, s.exit_status, s.signal, s.by_whom, s.evidence, s.node_name, s.rank, s.charged_us, s.gpu_milli_ms,
    s.cpu_ms
  from muster.attempts_ended s join copies c using (cluster);
insert into muster.charges
  select s.cluster, s.seq + c.seqs, s.ordinal, s.line, s.job + c.jobs, s.at, s.gpu_type, s.gpu_milli_ms,
    s.charged_us, s.cpu_ms
  from muster.charges s join copies c using (cluster);
insert into muster.members
  select s.cluster, s.seq + c.seqs, s.ordinal, s.member, s.node, s.rank_first, s.tasks, s.cpus, s.memory_mib
  from muster.members s join copies c using (cluster);
insert into muster.grants
  select s.cluster, s.seq + c.seqs, s.ordinal, s.member, s.device, s.node, s.milli, s.memory_mib, s.profile
  from muster.grants s join copies c using (cluster);
commit;
vacuum analyze;
