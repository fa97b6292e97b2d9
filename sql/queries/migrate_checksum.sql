-- Checksum of a migration. $1: its text.
select encode(sha256(convert_to($1::text, 'UTF8')), 'hex');
