-- Rights of the feed and of reports. Idempotent; runs after every migration, so that new tables are covered.
-- The feed appends facts and moves its watermark, nothing else; reports read.
do $$
begin
  if exists (select from pg_roles where rolname = 'muster_feed') then
    grant usage on schema muster to muster_feed;
    grant select on all tables in schema muster to muster_feed;
    grant insert on
      muster.clusters, muster.feed, muster.feed_gaps, muster.epochs, muster.configs,
      muster.nodes_enrolled, muster.node_reports, muster.device_reports, muster.node_states, muster.nodes_removed,
      muster.submissions, muster.job_changes, muster.element_ends, muster.requeues,
      muster.attempts_started, muster.members, muster.grants,
      muster.attempts_launched, muster.member_ends, muster.attempts_ended, muster.charges
      to muster_feed;
    grant update (seq, epoch, moved_at) on muster.feed to muster_feed;
  end if;
  if exists (select from pg_roles where rolname = 'muster_reports') then
    grant usage on schema muster to muster_reports;
    grant select on all tables in schema muster to muster_reports;
  end if;
end
$$;
