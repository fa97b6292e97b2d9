-- What ended attempts are charged, by GPU type: the lines of an invoice, written once, so that usage and cost of
-- many jobs is one pass over one table and not five look-ups for every attempt.

create view muster.charge_lines as
  select e.cluster, e.seq, e.ordinal, t.line, e.job, coalesce(l.wall, s.wall) as at, t.gpu_type,
    case when t.milli = t.milli_all then e.gpu_milli_ms else e.gpu_milli_ms * t.milli / t.milli_all end
      as gpu_milli_ms,
    case when t.line = 1 then e.charged_us else 0 end as charged_us,
    case when t.line = 1 then e.cpu_ms else 0 end as cpu_ms
  from muster.attempts_ended e
  join muster.attempts_started s using (cluster, job, element, attempt)
  left join muster.attempts_launched l using (cluster, job, element, attempt)
  cross join lateral (
    select (row_number() over (order by x.type))::integer as line, x.type as gpu_type, x.milli,
      sum(x.milli) over () as milli_all
    from (
      select coalesce(d.type, '') as type, sum(y.milli) as milli from muster.grants y
      left join lateral (select z.type from muster.device_reports z where z.cluster = y.cluster and z.device = y.device
                         order by z.seq desc, z.ordinal desc limit 1) d on true
      where y.cluster = s.cluster and y.seq = s.seq and y.ordinal = s.ordinal
      group by 1) x
    union all
    select 1, '', 0, 0 where not exists (
      select from muster.grants y where y.cluster = s.cluster and y.seq = s.seq and y.ordinal = s.ordinal)) t;
comment on view muster.charge_lines is
  'What muster.charges must hold: an attempt''s gpu_milli_ms falls on the types it held by their milli.';

create table muster.charges (
  cluster integer not null,
  seq bigint not null,
  ordinal integer not null,
  line integer not null check (line > 0),
  job bigint not null,
  at timestamptz not null,
  gpu_type text not null,
  gpu_milli_ms numeric not null check (gpu_milli_ms >= 0),
  charged_us bigint not null check (charged_us >= 0),
  cpu_ms numeric(20) not null check (cpu_ms >= 0),
  primary key (cluster, seq, ordinal, line)
);
create index on muster.charges (cluster, job);
comment on table muster.charges is
  'One line per GPU type of an ended attempt, at least one; seq and ordinal are those of attempts_ended. Line 1 has '
  'the attempt''s time and CPUs. Prices are those of the instant `at`.';

insert into muster.charges (
    cluster, seq, ordinal, line, job, at, gpu_type, gpu_milli_ms, charged_us, cpu_ms)
  select cluster, seq, ordinal, line, job, at, gpu_type, gpu_milli_ms, charged_us, cpu_ms from muster.charge_lines;

create view muster.rates as
  select p.plan, p.currency, c.resource, c.gpu_type, c.valid_from,
    coalesce(lead(c.valid_from) over (partition by c.resource, c.gpu_type order by c.valid_from), 'infinity')
      as valid_until,
    muster.price(p.plan, c.resource, c.gpu_type, c.valid_from) as amount
  from muster.plans p
  cross join lateral (
    select x.resource, t.type as gpu_type, x.valid_from
    from muster.prices x
    join (select type from muster.device_reports union select '') t
      on x.gpu_type in (t.type, '') and (x.resource = 'gpu-hour' or t.type = '')
    where x.plan = p.plan
    group by 1, 2, 3) c
  where p.is_default;
comment on view muster.rates is
  'muster.price of the default plan for every type of GPU there is, as spans of time in which it does not change.';

-- No "with": what a reader asks of one job must reach the tables.
create or replace view muster.usage as
  select u.cluster, u.job, u.attempts, u.charged_us, u.gpu_milli_ms / 1000000 as gpu_seconds,
    u.cpu_ms / 1000 as cpu_seconds, muster.cost(u.gpu_amount, u.cpu_amount) as cost, q.currency
  from (
    select l.cluster, l.job, sum(l.attempts) as attempts, sum(l.charged_us) as charged_us,
      sum(l.gpu_milli_ms) as gpu_milli_ms, sum(l.cpu_ms) as cpu_ms, sum(l.gpu_amount) as gpu_amount,
      sum(l.cpu_amount) as cpu_amount
    from (
      select c.cluster, c.job, (c.line = 1)::integer as attempts, c.charged_us, c.gpu_milli_ms, c.cpu_ms,
        c.gpu_milli_ms * coalesce(g.amount, 0) as gpu_amount, c.cpu_ms * coalesce(p.amount, 0) as cpu_amount
      from muster.charges c
      left join muster.rates g on g.resource = 'gpu-hour' and g.gpu_type = c.gpu_type
        and c.at >= g.valid_from and c.at < g.valid_until
      left join muster.rates p on p.resource = 'cpu-hour' and c.at >= p.valid_from and c.at < p.valid_until
      union all
      -- What runs is little: a look-up for each, which "offset 0" keeps from becoming a join of everything.
      select s.cluster, s.job, 1, a.charged_us, a.gpu_milli_ms, a.cpu_ms, a.gpu_amount, a.cpu_amount
      from muster.attempts_started s
      cross join lateral (
        select x.* from muster.attempt_costs x
        where x.cluster = s.cluster and x.job = s.job and x.element = s.element and x.attempt = s.attempt offset 0) a
      where not exists (select from muster.attempts_ended e where e.cluster = s.cluster and e.job = s.job
                        and e.element = s.element and e.attempt = s.attempt)) l
    group by l.cluster, l.job) u
  join muster.plans q on q.is_default;
