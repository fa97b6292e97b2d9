-- What gpusim replays: one row per element that ran and has ended.
create view muster.job_log as
  select to_char(j.submitted at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') as submitted,
    round(sum(e.charged_us) / 1000000.0, 3) as run_seconds, (array_agg(g.gpus order by e.attempt desc))[1] as gpus,
    j.user_name, j.account, j.queue, j.name, j.cluster, j.job, e.element
  from muster.attempts_ended e
  join muster.attempts_started s using (cluster, job, element, attempt)
  join muster.jobs j using (cluster, job)
  cross join lateral (select count(*) as gpus from muster.grants x
                      where x.cluster = s.cluster and x.seq = s.seq and x.ordinal = s.ordinal) g
  where exists (select from muster.element_ends d where d.cluster = e.cluster and d.job = e.job
                and e.element between d.element_first and d.element_last
                and (e.element - d.element_first) % d.element_step = 0)
  group by j.cluster, j.job, e.element, j.submitted, j.user_name, j.account, j.queue, j.name
  having sum(e.charged_us) > 0
  order by j.submitted, j.cluster, j.job, e.element;
comment on view muster.job_log is
  'Elements that ran and ended, as gpusim replay --format muster reads them: \copy (select * from muster.job_log) to '
  '''jobs.csv'' csv header.';
