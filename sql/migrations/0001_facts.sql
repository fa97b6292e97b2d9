-- Facts, as the journal tells them. Append-only: a row's key is the journal record and the event in it, so that writing
-- a record twice changes nothing. Ids of nodes and devices are the cluster's own; views join their names.
--
-- Rows of one event (an attempt, its members and grants) come in one transaction from one place, so no foreign keys tie
-- them: those cost as much as all the rest. The view muster.contradictions finds what does not belong together.
--
-- at_us is engine time (monotone; limits and money use it), wall is UTC, a label. Counts that a peer reports may be any
-- 64-bit number, hence numeric(20).

create function muster.wall(us bigint) returns timestamptz
  language sql stable strict parallel safe
  return timestamptz 'epoch' + us * interval '1 microsecond';
comment on function muster.wall is 'Microseconds since 1970 as a timestamp; exact up to the year 2255.';

create table muster.clusters (
  cluster integer generated always as identity primary key,
  cluster_id text not null unique check (cluster_id <> '')
);
comment on table muster.clusters is
  'Clusters that feed this database: a short number for each, for the keys of all facts.';

create table muster.feed (
  cluster integer primary key references muster.clusters,
  seq bigint not null check (seq >= 0),
  epoch bigint not null check (epoch >= 0),
  moved_at timestamptz not null default now()
);
comment on table muster.feed is
  'Watermark: every record up to seq is in the tables. epoch is the latest controller; earlier ones are refused.';

create function muster.feed_moves_forward() returns trigger language plpgsql as $$
begin
  if new.cluster <> old.cluster or new.seq < old.seq or new.epoch < old.epoch then
    raise exception 'the watermark of cluster % cannot go back from seq %, epoch % to seq %, epoch %',
      old.cluster, old.seq, old.epoch, new.seq, new.epoch;
  end if;
  return new;
end
$$;
create trigger feed_moves_forward before update on muster.feed
  for each row execute function muster.feed_moves_forward();

create table muster.feed_gaps (
  cluster integer not null references muster.clusters,
  seq_first bigint not null check (seq_first > 0),
  seq_last bigint not null,
  reason text not null,
  noted_at timestamptz not null default now(),
  primary key (cluster, seq_first),
  check (seq_last >= seq_first)
);
comment on table muster.feed_gaps is
  'Records that an administrator gave up, because the journal no longer has them.';

create table muster.epochs (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  boot_id text not null,
  release text not null,
  primary key (cluster, seq, ordinal),
  unique (cluster, epoch)
);
comment on table muster.epochs is 'Starts of the controller.';

create table muster.configs (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  version numeric(20) not null,
  name text not null,
  by_whom text not null,
  primary key (cluster, seq, ordinal)
);
comment on table muster.configs is 'Configurations applied; name is the name of the cluster.';

create table muster.nodes_enrolled (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  node bigint not null check (node >= 0),
  name text not null check (name <> ''),
  public_key text not null,
  by_whom text not null,
  primary key (cluster, seq, ordinal)
);
create index on muster.nodes_enrolled (cluster, node, seq desc);
comment on table muster.nodes_enrolled is
  'Nodes that joined. A node that joins again with a new key has another row.';

create table muster.node_reports (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  node bigint not null check (node >= 0),
  boot_id text not null,
  cpus bigint not null check (cpus >= 0),
  memory_mib numeric(20) not null check (memory_mib >= 0),
  gpus integer not null check (gpus >= 0),
  address text not null,
  release text not null,
  kernel text not null,
  primary key (cluster, seq, ordinal)
);
create index on muster.node_reports (cluster, node, seq desc);
comment on table muster.node_reports is 'What nodes have, whenever it changed.';

create table muster.device_reports (
  cluster integer not null,
  seq bigint not null,
  ordinal integer not null,
  device bigint not null check (device >= 0),
  node bigint not null,
  device_index bigint not null check (device_index >= 0),
  uuid text not null,
  type text not null,
  memory_mib numeric(20) not null check (memory_mib >= 0),
  state text not null,
  state_reason text not null,
  primary key (cluster, seq, ordinal, device)
);
create index on muster.device_reports (cluster, device, seq desc);
comment on table muster.device_reports is 'GPUs of a node report. A device id stands for one UUID for ever.';

create table muster.node_states (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  node bigint not null check (node >= 0),
  state text not null,
  reason text not null,
  by_whom text not null,
  primary key (cluster, seq, ordinal)
);
create index on muster.node_states (cluster, node, seq desc);

create table muster.nodes_removed (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  node bigint not null check (node >= 0),
  by_whom text not null,
  primary key (cluster, seq, ordinal)
);
create index on muster.nodes_removed (cluster, node, seq desc);

create table muster.submissions (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  job bigint not null check (job > 0),
  uid bigint not null check (uid >= 0),
  gid bigint not null check (gid >= 0),
  user_name text not null,
  account text not null check (account <> ''),
  queue text not null check (queue <> ''),
  name text not null,
  request uuid not null,
  request_index bigint not null check (request_index >= 0),
  host text not null,
  time_limit_us bigint not null check (time_limit_us > 0),
  priority integer not null,
  is_array boolean not null,
  nodes bigint not null check (nodes > 0),
  tasks numeric(20) not null check (tasks >= 0),
  cpus numeric(20) not null check (cpus >= 0),
  memory_mib numeric(20) not null check (memory_mib >= 0),
  gpus numeric(20) not null check (gpus >= 0),
  gpu_milli numeric(20) not null check (gpu_milli >= 0),
  gpu_types text not null,
  primary key (cluster, seq, ordinal),
  unique (cluster, job)
);
create index on muster.submissions (cluster, user_name, job desc);
create index on muster.submissions (cluster, wall);
comment on table muster.submissions is
  'Jobs as submitted; nodes, cpus, memory_mib, gpus and gpu_milli are what one element asks for in all, '
  'memory 0 meaning a fair part.';

create table muster.job_changes (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  job bigint not null check (job > 0),
  time_limit_us bigint check (time_limit_us > 0),
  queue text check (queue <> ''),
  account text check (account <> ''),
  priority integer,
  name text,
  by_whom text not null,
  primary key (cluster, seq, ordinal)
);
create index on muster.job_changes (cluster, job, seq desc);
comment on table muster.job_changes is 'What was changed after submission; null: left as it was.';

create table muster.element_ends (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  part integer not null check (part >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  job bigint not null check (job > 0),
  element_first bigint not null check (element_first >= 0),
  element_last bigint not null,
  element_step bigint not null check (element_step > 0),
  cause text not null check (cause <> ''),
  exit_status integer not null,
  signal integer not null,
  by_whom text not null,
  evidence text not null,
  node_name text not null,
  rank integer not null,
  primary key (cluster, seq, ordinal, part),
  check (element_last >= element_first)
);
create index on muster.element_ends (cluster, job, element_first);
comment on table muster.element_ends is 'Elements that are over for good, by ranges; a plain job is 0-0.';

create table muster.requeues (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  job bigint not null check (job > 0),
  element bigint not null check (element >= 0),
  not_before_us bigint not null,
  held boolean not null,
  reason text not null,
  primary key (cluster, seq, ordinal)
);
create index on muster.requeues (cluster, job, element);

create table muster.attempts_started (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  job bigint not null check (job > 0),
  element bigint not null check (element >= 0),
  attempt bigint not null check (attempt > 0),
  generation bigint not null check (generation > 0),
  primary key (cluster, seq, ordinal),
  unique (cluster, job, element, attempt)
);
comment on table muster.attempts_started is 'Capacity taken. Money runs from attempts_launched.';

create table muster.members (
  cluster integer not null,
  seq bigint not null,
  ordinal integer not null,
  member integer not null check (member >= 0),
  node bigint not null check (node >= 0),
  rank_first bigint not null check (rank_first >= 0),
  tasks bigint not null check (tasks >= 0),
  cpus bigint not null check (cpus >= 0),
  memory_mib numeric(20) not null check (memory_mib >= 0),
  primary key (cluster, seq, ordinal, member)
);
comment on table muster.members is 'Nodes of an attempt, in rank order, and what each gives.';

create table muster.grants (
  cluster integer not null,
  seq bigint not null,
  ordinal integer not null,
  member integer not null,
  device bigint not null check (device >= 0),
  node bigint not null check (node >= 0),
  milli bigint not null check (milli between 1 and 1000),
  memory_mib numeric(20) not null check (memory_mib >= 0),
  profile text not null,
  primary key (cluster, seq, ordinal, device)
);
create index on muster.grants (cluster, device, seq);
comment on table muster.grants is
  'GPUs of an attempt, whole (1000 milli) or in part: one row a device, held until attempts_ended.';

create table muster.attempts_launched (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  job bigint not null check (job > 0),
  element bigint not null check (element >= 0),
  attempt bigint not null check (attempt > 0),
  master_address text not null,
  primary key (cluster, seq, ordinal),
  unique (cluster, job, element, attempt)
);

create table muster.member_ends (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  job bigint not null check (job > 0),
  element bigint not null check (element >= 0),
  attempt bigint not null check (attempt > 0),
  node bigint not null check (node >= 0),
  launched boolean not null,
  cause text not null check (cause <> ''),
  exit_status integer not null,
  signal integer not null,
  by_whom text not null,
  evidence text not null,
  node_name text not null,
  rank integer not null,
  ran_us bigint not null,
  cpu_us numeric(20) not null check (cpu_us >= 0),
  memory_peak_mib numeric(20) not null check (memory_peak_mib >= 0),
  started timestamptz,
  ended timestamptz,
  primary key (cluster, seq, ordinal),
  unique (cluster, job, element, attempt, node)
);
comment on table muster.member_ends is
  'What one node measured of one attempt. Times and evidence are the node''s word.';

create table muster.attempts_ended (
  cluster integer not null,
  seq bigint not null check (seq > 0),
  ordinal integer not null check (ordinal >= 0),
  epoch bigint not null check (epoch > 0),
  at_us bigint not null,
  wall timestamptz not null,
  job bigint not null check (job > 0),
  element bigint not null check (element >= 0),
  attempt bigint not null check (attempt > 0),
  cause text not null check (cause <> ''),
  exit_status integer not null,
  signal integer not null,
  by_whom text not null,
  evidence text not null,
  node_name text not null,
  rank integer not null,
  charged_us bigint not null check (charged_us >= 0),
  gpu_milli_ms numeric(20) not null check (gpu_milli_ms >= 0),
  cpu_ms numeric(20) not null check (cpu_ms >= 0),
  primary key (cluster, seq, ordinal),
  unique (cluster, job, element, attempt),
  check (charged_us > 0 or (gpu_milli_ms = 0 and cpu_ms = 0))
);
comment on table muster.attempts_ended is
  'Capacity freed, and what is charged: gpu_milli_ms is milli-GPU times milliseconds, exact.';
