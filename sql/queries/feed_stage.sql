-- Where COPY puts rows before they become facts: columns in the order in which controller/sql/rows.cpp writes them.
-- Times are microseconds since 1970. Runs once per connection.
create temp table staged_epochs (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, boot_id text,
  release text
) on commit delete rows;
create temp table staged_configs (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint,
  version numeric(20), name text, by_whom text
) on commit delete rows;
create temp table staged_nodes_enrolled (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, node bigint,
  name text, public_key text, by_whom text
) on commit delete rows;
create temp table staged_node_reports (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, node bigint,
  boot_id text, cpus bigint, memory_mib numeric(20), gpus integer, address text, release text, kernel text
) on commit delete rows;
create temp table staged_device_reports (
  cluster integer, seq bigint, ordinal integer, device bigint, node bigint, device_index bigint, uuid text,
  type text, memory_mib numeric(20), state text, state_reason text
) on commit delete rows;
create temp table staged_node_states (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, node bigint,
  state text, reason text, by_whom text
) on commit delete rows;
create temp table staged_nodes_removed (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, node bigint,
  by_whom text
) on commit delete rows;
create temp table staged_submissions (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, job bigint,
  uid bigint, gid bigint, user_name text, account text, queue text, name text, request uuid,
  request_index bigint, host text, time_limit_us bigint, priority integer, is_array boolean, nodes bigint,
  tasks numeric(20), cpus numeric(20), memory_mib numeric(20), gpus numeric(20), gpu_milli numeric(20),
  gpu_types text, qos text
) on commit delete rows;
create temp table staged_job_changes (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, job bigint,
  time_limit_us bigint, queue text, account text, priority integer, name text, by_whom text,
  qos text
) on commit delete rows;
create temp table staged_element_ends (
  cluster integer, seq bigint, ordinal integer, part integer, epoch bigint, at_us bigint, wall_us bigint,
  job bigint, element_first bigint, element_last bigint, element_step bigint, cause text, exit_status integer,
  signal integer, by_whom text, evidence text, node_name text, rank integer
) on commit delete rows;
create temp table staged_requeues (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, job bigint,
  element bigint, not_before_us bigint, held boolean, reason text
) on commit delete rows;
create temp table staged_attempts_started (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, job bigint,
  element bigint, attempt bigint, generation bigint
) on commit delete rows;
create temp table staged_members (
  cluster integer, seq bigint, ordinal integer, member integer, node bigint, rank_first bigint, tasks bigint,
  cpus bigint, memory_mib numeric(20)
) on commit delete rows;
create temp table staged_grants (
  cluster integer, seq bigint, ordinal integer, member integer, device bigint, node bigint, milli bigint,
  memory_mib numeric(20), profile text
) on commit delete rows;
create temp table staged_attempts_launched (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, job bigint,
  element bigint, attempt bigint, master_address text
) on commit delete rows;
create temp table staged_member_ends (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, job bigint,
  element bigint, attempt bigint, node bigint, launched boolean, cause text, exit_status integer,
  signal integer, by_whom text, evidence text, node_name text, rank integer, ran_us bigint, cpu_us numeric(20),
  memory_peak_mib numeric(20), started_us bigint, ended_us bigint
) on commit delete rows;
create temp table staged_attempts_ended (
  cluster integer, seq bigint, ordinal integer, epoch bigint, at_us bigint, wall_us bigint, job bigint,
  element bigint, attempt bigint, cause text, exit_status integer, signal integer, by_whom text, evidence text,
  node_name text, rank integer, charged_us bigint, gpu_milli_ms numeric(20), cpu_ms numeric(20)
) on commit delete rows;
