-- Reports change nothing and give up in good time.
set session characteristics as transaction read only;
set statement_timeout = '30s';
