-- Reports change nothing and give up in good time.
set session characteristics as transaction read only;
set statement_timeout = '30s';
set jit = off;  -- The views are many small look-ups: compiling them costs more than running them.
