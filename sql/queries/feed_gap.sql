-- Records given up. $1: cluster, $2: first, $3: last, $4: reason.
insert into muster.feed_gaps (cluster, seq_first, seq_last, reason)
values ($1::integer, $2::bigint, $3::bigint, $4::text) on conflict do nothing;
