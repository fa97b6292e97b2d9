-- The watermark moves, in the transaction that wrote the rows. $1: cluster, $2: seq, $3: epoch.
update muster.feed set seq = greatest(seq, $2::bigint), epoch = $3::bigint, moved_at = now()
where cluster = $1::integer and epoch <= $3::bigint;
