-- The QOS of a job, as it was submitted and as it was changed; '' is none. Jobs from before have none.
alter table muster.submissions add column if not exists qos text not null default '';
alter table muster.job_changes add column if not exists qos text;

create or replace view muster.jobs as
  select s.cluster, s.job, s.uid, s.gid, s.user_name, s.wall as submitted, s.host, s.request, s.is_array,
    s.nodes, s.tasks, s.cpus, s.memory_mib, s.gpus, s.gpu_milli, s.gpu_types,
    coalesce(c.account, s.account) as account, coalesce(c.queue, s.queue) as queue, coalesce(c.name, s.name) as name,
    coalesce(c.time_limit_us, s.time_limit_us) as time_limit_us, coalesce(c.priority, s.priority) as priority,
    coalesce(c.qos, s.qos) as qos
  from muster.submissions s
  left join lateral (
    select (array_agg(x.account order by x.seq desc) filter (where x.account is not null))[1] as account,
      (array_agg(x.queue order by x.seq desc) filter (where x.queue is not null))[1] as queue,
      (array_agg(x.name order by x.seq desc) filter (where x.name is not null))[1] as name,
      (array_agg(x.time_limit_us order by x.seq desc) filter (where x.time_limit_us is not null))[1] as time_limit_us,
      (array_agg(x.priority order by x.seq desc) filter (where x.priority is not null))[1] as priority,
      (array_agg(x.qos order by x.seq desc) filter (where x.qos is not null))[1] as qos
    from muster.job_changes x where x.cluster = s.cluster and x.job = s.job) c on true;

create or replace view muster.accounting as
  select j.cluster, j.job, el.element, j.is_array, j.uid, j.user_name, j.account, j.queue, j.name, j.submitted,
    coalesce(u.attempts, 0) as attempts, u.started, u.node_names, u.gpus, u.cpus, u.gpu_types,
    case when d.seq is not null then 'ended' when u.holds then 'active' else 'pending' end as state,
    coalesce(d.cause, u.cause, '') as cause, coalesce(d.exit_status, u.exit_status, 0) as exit_status,
    coalesce(d.signal, u.signal, 0) as signal, coalesce(d.by_whom, u.by_whom, '') as by_whom,
    coalesce(d.evidence, u.evidence, '') as evidence,
    d.wall as ended, coalesce(u.charged_us, 0) as charged_us,
    coalesce(u.gpu_milli_ms, 0) / 1000000 as gpu_seconds, coalesce(u.cpu_ms, 0) / 1000 as cpu_seconds,
    coalesce(muster.cost(u.gpu_amount, u.cpu_amount), 0) as cost, p.currency, j.qos
  from muster.jobs j
  join muster.plans p on p.is_default
  cross join lateral (
    select a.element from muster.attempts_started a where a.cluster = j.cluster and a.job = j.job
    union
    select generate_series(x.element_first, x.element_last, x.element_step) from muster.element_ends x
    where x.cluster = j.cluster and x.job = j.job
    union all
    select 0 where not exists (select from muster.attempts_started a where a.cluster = j.cluster and a.job = j.job)
      and not exists (select from muster.element_ends x where x.cluster = j.cluster and x.job = j.job)) el
  left join lateral (
    select x.* from muster.element_ends x
    where x.cluster = j.cluster and x.job = j.job and el.element between x.element_first and x.element_last
      and (el.element - x.element_first) % x.element_step = 0
    order by x.seq desc limit 1) d on true
  left join lateral (
    select count(*) over () as attempts, min(c.launched) over () as started, c.state <> 'ended' as holds,
      c.node_names, c.gpus, c.cpus, c.gpu_types, c.cause, c.exit_status, c.signal, c.by_whom, c.evidence,
      sum(c.charged_us) over () as charged_us, sum(c.gpu_milli_ms) over () as gpu_milli_ms,
      sum(c.cpu_ms) over () as cpu_ms, sum(c.gpu_amount) over () as gpu_amount, sum(c.cpu_amount) over () as cpu_amount
    from muster.attempt_costs c
    where c.cluster = j.cluster and c.job = j.job and c.element = el.element
    order by c.attempt desc limit 1) u on true;
