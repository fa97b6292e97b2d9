-- The watermark, locked until the end of the transaction: one controller feeds at a time. $1: cluster.
select seq, epoch from muster.feed where cluster = $1::integer for update;
