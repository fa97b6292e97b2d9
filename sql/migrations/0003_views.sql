-- The present, and what it costs. Everything is derived from facts; nothing here is stored.

create view muster.nodes as
  select distinct on (e.cluster, e.node) e.cluster, e.node, e.name, r.boot_id, r.cpus, r.memory_mib, r.gpus,
    coalesce(st.state, 'up') as state, coalesce(st.reason, '') as reason,
    exists (select from muster.nodes_removed x where x.cluster = e.cluster and x.node = e.node and x.seq > e.seq)
      as removed
  from muster.nodes_enrolled e
  left join lateral (select * from muster.node_reports x where x.cluster = e.cluster and x.node = e.node
                     order by x.seq desc, x.ordinal desc limit 1) r on true
  left join lateral (select * from muster.node_states x where x.cluster = e.cluster and x.node = e.node
                     order by x.seq desc, x.ordinal desc limit 1) st on true
  order by e.cluster, e.node, e.seq desc, e.ordinal desc;

create view muster.devices as
  select distinct on (d.cluster, d.device) d.cluster, d.device, d.node, d.device_index, d.uuid, d.type, d.memory_mib,
    d.state, d.state_reason
  from muster.device_reports d
  order by d.cluster, d.device, d.seq desc, d.ordinal desc;

create view muster.jobs as
  select s.cluster, s.job, s.uid, s.gid, s.user_name, s.wall as submitted, s.host, s.request, s.is_array,
    s.nodes, s.tasks, s.cpus, s.memory_mib, s.gpus, s.gpu_milli, s.gpu_types,
    coalesce(c.account, s.account) as account, coalesce(c.queue, s.queue) as queue, coalesce(c.name, s.name) as name,
    coalesce(c.time_limit_us, s.time_limit_us) as time_limit_us, coalesce(c.priority, s.priority) as priority
  from muster.submissions s
  left join lateral (
    select (array_agg(x.account order by x.seq desc) filter (where x.account is not null))[1] as account,
      (array_agg(x.queue order by x.seq desc) filter (where x.queue is not null))[1] as queue,
      (array_agg(x.name order by x.seq desc) filter (where x.name is not null))[1] as name,
      (array_agg(x.time_limit_us order by x.seq desc) filter (where x.time_limit_us is not null))[1] as time_limit_us,
      (array_agg(x.priority order by x.seq desc) filter (where x.priority is not null))[1] as priority
    from muster.job_changes x where x.cluster = s.cluster and x.job = s.job) c on true;
comment on view muster.jobs is 'Jobs with all later changes applied.';

-- Usage so far of an attempt that runs is by the wall clock and an estimate; of one that ended it is exact.
create view muster.attempts as
  select s.cluster, s.job, s.element, s.attempt, s.seq, s.ordinal,
    s.wall as started, l.wall as launched, e.wall as ended,
    case when e.seq is not null then 'ended' when l.seq is not null then 'running' else 'preparing' end as state,
    e.cause, e.exit_status, e.signal, e.by_whom, e.evidence, e.node_name, e.rank,
    m.nodes, m.cpus, m.node_names, g.gpus, g.milli,
    u.charged_us,
    case when e.seq is not null then e.gpu_milli_ms else div(u.charged_us::numeric, 1000) * g.milli end
      as gpu_milli_ms,
    case when e.seq is not null then e.cpu_ms else div(u.charged_us::numeric, 1000) * m.cpus end as cpu_ms
  from muster.attempts_started s
  left join muster.attempts_launched l using (cluster, job, element, attempt)
  left join muster.attempts_ended e using (cluster, job, element, attempt)
  cross join lateral (
    select count(*) as nodes, coalesce(sum(x.cpus), 0) as cpus,
      array_agg(coalesce(n.name, 'node ' || x.node) order by x.member) as node_names
    from muster.members x
    left join lateral (select y.name from muster.nodes_enrolled y where y.cluster = x.cluster and y.node = x.node
                       order by y.seq desc, y.ordinal desc limit 1) n on true
    where x.cluster = s.cluster and x.seq = s.seq and x.ordinal = s.ordinal) m
  cross join lateral (
    select count(*) as gpus, coalesce(sum(x.milli), 0) as milli from muster.grants x
    where x.cluster = s.cluster and x.seq = s.seq and x.ordinal = s.ordinal) g
  cross join lateral (
    select case when e.seq is not null then e.charged_us when l.seq is not null
      then greatest(0, extract(epoch from clock_timestamp() - l.wall) * 1000000)::bigint else 0 end as charged_us) u;

-- Price times usage, not yet divided by an hour, so that sums stay exact: price × milli-GPU·ms and price × CPU·ms.
-- The attempt's gpu_milli_ms falls on the types it held by their milli.
create view muster.attempt_costs as
  select a.*, p.plan, p.currency, t.gpu_types, t.gpu_amount,
    a.cpu_ms * muster.price(p.plan, 'cpu-hour', '', w.at) as cpu_amount
  from muster.attempts a
  cross join lateral (select coalesce(a.launched, a.started) as at) w
  join muster.plans p on p.is_default
  cross join lateral (
    select coalesce(array_agg(x.type order by x.type), '{}') as gpu_types,
      coalesce(sum(a.gpu_milli_ms * x.milli / a.milli * muster.price(p.plan, 'gpu-hour', x.type, w.at)), 0)
        as gpu_amount
    from (
      select coalesce(d.type, '') as type, sum(y.milli) as milli from muster.grants y
      left join lateral (select z.type from muster.device_reports z where z.cluster = y.cluster and z.device = y.device
                         order by z.seq desc, z.ordinal desc limit 1) d on true
      where y.cluster = a.cluster and y.seq = a.seq and y.ordinal = a.ordinal
      group by 1) x) t;

create function muster.cost(gpu_amount numeric, cpu_amount numeric) returns numeric
  language sql immutable parallel safe
  return round((gpu_amount + cpu_amount * 1000) / 3600000000, 6);
comment on function muster.cost is
  'Sums of attempt_costs as money; the only place where anything is rounded: half away from zero, to a '
  'millionth.';

create view muster.running as
  select a.cluster, a.job, a.element, a.attempt, j.user_name, j.account, j.queue, j.name, a.state,
    a.started, a.launched,
    a.node_names, a.gpus, a.cpus, a.gpu_milli_ms / 1000000 as gpu_seconds, a.cpu_ms / 1000 as cpu_seconds
  from muster.attempts a join muster.jobs j using (cluster, job)
  where a.state <> 'ended';
comment on view muster.running is 'Attempts that hold capacity now, with usage so far.';

create view muster.usage as
  select c.cluster, c.job, count(*) as attempts, sum(c.charged_us) as charged_us,
    sum(c.gpu_milli_ms) / 1000000 as gpu_seconds, sum(c.cpu_ms) / 1000 as cpu_seconds,
    muster.cost(sum(c.gpu_amount), sum(c.cpu_amount)) as cost, min(c.currency) as currency
  from muster.attempt_costs c
  group by c.cluster, c.job;
comment on view muster.usage is 'Per job: GPU-seconds, CPU-seconds and cost, what runs included.';

-- Elements worth a line: those that were started, those that ended, and jobs of which nothing has happened yet.
create view muster.accounting as
  select j.cluster, j.job, el.element, j.is_array, j.uid, j.user_name, j.account, j.queue, j.name, j.submitted,
    coalesce(u.attempts, 0) as attempts, u.started, u.node_names, u.gpus, u.cpus, u.gpu_types,
    case when d.seq is not null then 'ended' when u.holds then 'active' else 'pending' end as state,
    coalesce(d.cause, u.cause, '') as cause, coalesce(d.exit_status, u.exit_status, 0) as exit_status,
    coalesce(d.signal, u.signal, 0) as signal, coalesce(d.by_whom, u.by_whom, '') as by_whom,
    coalesce(d.evidence, u.evidence, '') as evidence,
    d.wall as ended, coalesce(u.charged_us, 0) as charged_us,
    coalesce(u.gpu_milli_ms, 0) / 1000000 as gpu_seconds, coalesce(u.cpu_ms, 0) / 1000 as cpu_seconds,
    coalesce(muster.cost(u.gpu_amount, u.cpu_amount), 0) as cost, p.currency
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
comment on view muster.accounting is
  'One row per element: sums over all attempts; nodes, GPUs and cause of the last one.';

-- What must never be: rows here mean a bug or a damaged database. Tests and drills expect none.
create view muster.contradictions as
  select e.cluster, e.job, e.element, e.attempt, 'ended but never started' as what from muster.attempts_ended e
    where not exists (select from muster.attempts_started s where (s.cluster, s.job, s.element, s.attempt)
                      = (e.cluster, e.job, e.element, e.attempt))
  union all
  select l.cluster, l.job, l.element, l.attempt, 'launched but never started' from muster.attempts_launched l
    where not exists (select from muster.attempts_started s where (s.cluster, s.job, s.element, s.attempt)
                      = (l.cluster, l.job, l.element, l.attempt))
  union all
  select s.cluster, s.job, s.element, s.attempt, 'started but never submitted' from muster.attempts_started s
    where not exists (select from muster.submissions x where x.cluster = s.cluster and x.job = s.job)
  union all
  select e.cluster, e.job, e.element, e.attempt, 'charged but never launched' from muster.attempts_ended e
    where e.charged_us > 0
      and not exists (select from muster.attempts_launched l where (l.cluster, l.job, l.element, l.attempt)
                      = (e.cluster, e.job, e.element, e.attempt))
  union all
  select g.cluster, 0, 0, 0, 'grant without a member, seq ' || g.seq from muster.grants g
    where not exists (select from muster.members m where (m.cluster, m.seq, m.ordinal, m.member)
                      = (g.cluster, g.seq, g.ordinal, g.member))
  union all
  select m.cluster, 0, 0, 0, 'member without an attempt, seq ' || m.seq from muster.members m
    where not exists (select from muster.attempts_started s where (s.cluster, s.seq, s.ordinal)
                      = (m.cluster, m.seq, m.ordinal))
  union all
  select x.cluster, x.job, x.element, x.attempt, 'device ' || x.device || ' granted beyond its size'
  from (
    select c.*, sum(c.delta) over (partition by c.cluster, c.device order by c.seq, c.ordinal) as held
    from (
      select g.cluster, g.device, s.seq, s.ordinal, s.job, s.element, s.attempt, g.milli as delta
      from muster.grants g join muster.attempts_started s using (cluster, seq, ordinal)
      union all
      select g.cluster, g.device, e.seq, e.ordinal, s.job, s.element, s.attempt, -g.milli
      from muster.grants g join muster.attempts_started s using (cluster, seq, ordinal)
      join muster.attempts_ended e using (cluster, job, element, attempt)) c) x
  where x.delta > 0 and x.held > 1000;
