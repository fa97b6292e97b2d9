-- Rows of gpuacct, newest job first. $1: cluster id; $2 jobs, $3 users, $4 accounts, $5 queues, $6 states or causes:
-- arrays, null for any; $7 since, $8 until: microseconds since 1970, null for open; $9: limit;
-- $10 QOS, as $2.
-- A row is in the window when its time from submission to end (or now) touches it.
select a.job, a.element, a.is_array, a.attempts, a.uid, a.user_name, a.account, a.queue, a.name, a.state, a.cause,
  a.exit_status, a.signal, a.by_whom, a.evidence,
  (extract(epoch from a.submitted) * 1000000)::bigint, (extract(epoch from a.started) * 1000000)::bigint,
  (extract(epoch from a.ended) * 1000000)::bigint, a.charged_us,
  array_to_string(a.node_names, E'\x1f'), array_to_string(a.gpu_types, E'\x1f'), a.gpus, a.cpus,
  trim_scale(a.gpu_seconds), trim_scale(a.cpu_seconds), trim_scale(a.cost), a.currency, a.qos
from muster.accounting a
where a.cluster = (select cluster from muster.clusters where cluster_id = $1::text)
  and ($2::bigint[] is null or a.job = any ($2::bigint[]))
  and ($3::text[] is null or a.user_name = any ($3::text[]))
  and ($4::text[] is null or a.account = any ($4::text[]))
  and ($5::text[] is null or a.queue = any ($5::text[]))
  and ($6::text[] is null or a.state = any ($6::text[]) or a.cause = any ($6::text[]))
  and ($7::bigint is null or a.ended is null or a.ended >= muster.wall($7::bigint))
  and ($8::bigint is null or a.submitted < muster.wall($8::bigint))
  and ($10::text[] is null or a.qos = any ($10::text[]))
order by a.job desc, a.element limit $9::bigint;
