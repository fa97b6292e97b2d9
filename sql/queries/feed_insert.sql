-- Staged rows become facts. A row that is there already (a record fed twice) changes nothing; a row that contradicts
-- one under another key fails the whole transaction.
insert into muster.epochs (
    cluster, seq, ordinal, epoch, at_us, wall, boot_id, release)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), boot_id, release
  from staged_epochs on conflict (cluster, seq, ordinal) do nothing;
insert into muster.configs (
    cluster, seq, ordinal, epoch, at_us, wall, version, name, by_whom)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), version, name, by_whom
  from staged_configs on conflict (cluster, seq, ordinal) do nothing;
insert into muster.nodes_enrolled (
    cluster, seq, ordinal, epoch, at_us, wall, node, name, public_key, by_whom)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), node, name, public_key, by_whom
  from staged_nodes_enrolled on conflict (cluster, seq, ordinal) do nothing;
insert into muster.node_reports (
    cluster, seq, ordinal, epoch, at_us, wall, node, boot_id, cpus, memory_mib, gpus, address, release, kernel)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), node, boot_id, cpus, memory_mib, gpus, address,
    release, kernel
  from staged_node_reports on conflict (cluster, seq, ordinal) do nothing;
insert into muster.device_reports (
    cluster, seq, ordinal, device, node, device_index, uuid, type, memory_mib, state, state_reason)
  select
    cluster, seq, ordinal, device, node, device_index, uuid, type, memory_mib, state, state_reason
  from staged_device_reports on conflict (cluster, seq, ordinal, device) do nothing;
insert into muster.node_states (
    cluster, seq, ordinal, epoch, at_us, wall, node, state, reason, by_whom)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), node, state, reason, by_whom
  from staged_node_states on conflict (cluster, seq, ordinal) do nothing;
insert into muster.nodes_removed (
    cluster, seq, ordinal, epoch, at_us, wall, node, by_whom)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), node, by_whom
  from staged_nodes_removed on conflict (cluster, seq, ordinal) do nothing;
insert into muster.submissions (
    cluster, seq, ordinal, epoch, at_us, wall, job, uid, gid, user_name, account, queue, name, request,
    request_index, host, time_limit_us, priority, is_array, nodes, tasks, cpus, memory_mib, gpus, gpu_milli,
    gpu_types, qos)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), job, uid, gid, user_name, account, queue, name,
    request, request_index, host, time_limit_us, priority, is_array, nodes, tasks, cpus, memory_mib, gpus,
    gpu_milli, gpu_types, qos
  from staged_submissions on conflict (cluster, seq, ordinal) do nothing;
insert into muster.job_changes (
    cluster, seq, ordinal, epoch, at_us, wall, job, time_limit_us, queue, account, priority, name, by_whom, qos)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), job, time_limit_us, queue, account, priority,
    name, by_whom, qos
  from staged_job_changes on conflict (cluster, seq, ordinal) do nothing;
insert into muster.element_ends (
    cluster, seq, ordinal, part, epoch, at_us, wall, job, element_first, element_last, element_step, cause,
    exit_status, signal, by_whom, evidence, node_name, rank)
  select
    cluster, seq, ordinal, part, epoch, at_us, muster.wall(wall_us), job, element_first, element_last,
    element_step, cause, exit_status, signal, by_whom, evidence, node_name, rank
  from staged_element_ends on conflict (cluster, seq, ordinal, part) do nothing;
insert into muster.requeues (
    cluster, seq, ordinal, epoch, at_us, wall, job, element, not_before_us, held, reason)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), job, element, not_before_us, held, reason
  from staged_requeues on conflict (cluster, seq, ordinal) do nothing;
insert into muster.attempts_started (
    cluster, seq, ordinal, epoch, at_us, wall, job, element, attempt, generation)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), job, element, attempt, generation
  from staged_attempts_started on conflict (cluster, seq, ordinal) do nothing;
insert into muster.members (
    cluster, seq, ordinal, member, node, rank_first, tasks, cpus, memory_mib)
  select
    cluster, seq, ordinal, member, node, rank_first, tasks, cpus, memory_mib
  from staged_members on conflict (cluster, seq, ordinal, member) do nothing;
insert into muster.grants (
    cluster, seq, ordinal, member, device, node, milli, memory_mib, profile)
  select
    cluster, seq, ordinal, member, device, node, milli, memory_mib, profile
  from staged_grants on conflict (cluster, seq, ordinal, device) do nothing;
insert into muster.attempts_launched (
    cluster, seq, ordinal, epoch, at_us, wall, job, element, attempt, master_address)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), job, element, attempt, master_address
  from staged_attempts_launched on conflict (cluster, seq, ordinal) do nothing;
insert into muster.member_ends (
    cluster, seq, ordinal, epoch, at_us, wall, job, element, attempt, node, launched, cause, exit_status,
    signal, by_whom, evidence, node_name, rank, ran_us, cpu_us, memory_peak_mib, started, ended)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), job, element, attempt, node, launched, cause,
    exit_status, signal, by_whom, evidence, node_name, rank, ran_us, cpu_us, memory_peak_mib,
    muster.wall(started_us), muster.wall(ended_us)
  from staged_member_ends on conflict (cluster, seq, ordinal) do nothing;
insert into muster.attempts_ended (
    cluster, seq, ordinal, epoch, at_us, wall, job, element, attempt, cause, exit_status, signal, by_whom,
    evidence, node_name, rank, charged_us, gpu_milli_ms, cpu_ms)
  select
    cluster, seq, ordinal, epoch, at_us, muster.wall(wall_us), job, element, attempt, cause, exit_status,
    signal, by_whom, evidence, node_name, rank, charged_us, gpu_milli_ms, cpu_ms
  from staged_attempts_ended on conflict (cluster, seq, ordinal) do nothing;
insert into muster.charges (
    cluster, seq, ordinal, line, job, at, gpu_type, gpu_milli_ms, charged_us, cpu_ms)
  select
    cluster, seq, ordinal, line, job, at, gpu_type, gpu_milli_ms, charged_us, cpu_ms
  from muster.charge_lines where (cluster, seq, ordinal) in (select cluster, seq, ordinal from staged_attempts_ended)
  on conflict (cluster, seq, ordinal, line) do nothing;
