-- Roles, schema and the list of applied migrations. Idempotent; runs before every migration, in its transaction.
-- Roles are made when the connecting user may make roles. Without them everything belongs to that user and works too.
do $$
declare
  wanted text;
begin
  if current_setting('server_encoding') <> 'UTF8' then
    raise exception 'database % has the encoding %; muster needs UTF8',
      current_database(), current_setting('server_encoding')
      using hint = 'create it with: createdb --encoding UTF8 --template template0 NAME';
  end if;
  if (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) then
    foreach wanted in array array['muster_owner', 'muster_feed', 'muster_reports'] loop
      if not exists (select from pg_roles where rolname = wanted) then
        execute format('create role %I nologin', wanted);
      end if;
    end loop;
  end if;
  if not exists (select from pg_namespace where nspname = 'muster') then
    create schema muster;
    if exists (select from pg_roles where rolname = 'muster_owner')
       and pg_has_role(current_user, 'muster_owner', 'MEMBER') then
      alter schema muster owner to muster_owner;
    end if;
  end if;
  if exists (select from pg_namespace n join pg_roles r on r.oid = n.nspowner
             where n.nspname = 'muster' and r.rolname = 'muster_owner')
     and pg_has_role(current_user, 'muster_owner', 'MEMBER') then
    perform set_config('role', 'muster_owner', true);
  end if;
end
$$;

create table if not exists muster.schema_migrations (
  version integer primary key check (version > 0),
  name text not null,
  checksum text not null check (checksum ~ '^[0-9a-f]{64}$'),
  applied_at timestamptz not null default now(),
  applied_by text not null default session_user
);
