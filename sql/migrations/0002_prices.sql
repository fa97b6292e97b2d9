-- The price book. A price holds from its date until the next one of the same plan, resource and type, so two prices
-- can never overlap. An attempt is priced by its launch. Plans of accounts, spot and reservations come with later
-- migrations.

create table muster.plans (
  plan text primary key check (plan ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  is_default boolean not null default false,
  description text not null default ''
);
create unique index plans_one_default on muster.plans (is_default) where is_default;
comment on table muster.plans is 'What a customer may be on. Exactly one is the default.';

create table muster.prices (
  plan text not null references muster.plans,
  resource text not null check (resource in ('gpu-hour', 'cpu-hour')),
  gpu_type text not null default '',
  valid_from timestamptz not null,
  amount numeric(20, 10) not null check (amount >= 0),
  primary key (plan, resource, gpu_type, valid_from),
  check (resource = 'gpu-hour' or gpu_type = '')
);
comment on table muster.prices is
  'Price of one hour of a whole GPU of a type (type '''': every type without its own price) or of one CPU.';

insert into muster.plans (plan, currency, is_default, description)
  values ('on-demand', 'EUR', true, 'Pay for what runs, while it runs.');
insert into muster.prices (plan, resource, gpu_type, valid_from, amount) values
  ('on-demand', 'gpu-hour', '', '2000-01-01T00:00:00Z', 2.00),
  ('on-demand', 'gpu-hour', 'a100', '2000-01-01T00:00:00Z', 1.80),
  ('on-demand', 'gpu-hour', 'h100', '2000-01-01T00:00:00Z', 3.00),
  ('on-demand', 'gpu-hour', 'h200', '2000-01-01T00:00:00Z', 3.60),
  ('on-demand', 'cpu-hour', '', '2000-01-01T00:00:00Z', 0.02);

create function muster.price(of_plan text, of_resource text, of_type text, at timestamptz) returns numeric
  language sql stable parallel safe
  return coalesce(
    (select p.amount from muster.prices p
     where p.plan = of_plan and p.resource = of_resource and p.gpu_type in (of_type, '') and p.valid_from <= at
     order by (p.gpu_type = of_type) desc, p.valid_from desc limit 1), 0);
comment on function muster.price is 'A type''s own price, else the price of every type, else 0.';
