-- The database role of a controller that feeds and reads, and owns nothing: for `psql -f`, after the migrations.
do $$
begin
  if not exists (select from pg_roles where rolname = 'muster_controller') then
    create role muster_controller login;
  end if;
end
$$;
grant muster_feed, muster_reports to muster_controller;
