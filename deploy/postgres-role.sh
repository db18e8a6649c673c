# Runs once, when the image of PostgreSQL creates its data. The service gets a role that owns its
# database and nothing else. The superuser loses its password, so that only a process inside the
# container can log in as it.
psql --no-psqlrc --set=ON_ERROR_STOP=1 --set=password="$POSTGRES_PASSWORD" \
  --username=postgres --dbname=postgres <<'SQL'
create role bonded login password :'password';
create database bonded owner bonded encoding 'UTF8' template template0;
revoke all on database bonded, postgres, template1 from public;
alter role postgres password null;
SQL
