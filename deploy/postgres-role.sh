# Runs once, when the image of PostgreSQL creates its data. One role owns the database of the service
# and migrates it. The other one is for the nodes: `bonded migrate up --runtime-role bonded` gives it
# rights on rows. The superuser loses its password, so that only a process inside the container can
# log in as it.
psql --no-psqlrc --set=ON_ERROR_STOP=1 --set=owner_password="$POSTGRES_PASSWORD" \
  --set=password="$BONDED_RUNTIME_PASSWORD" --username=postgres --dbname=postgres <<'SQL'
create role bonded_owner login password :'owner_password';
create role bonded login password :'password';
create database bonded owner bonded_owner encoding 'UTF8' template template0;
revoke all on database bonded, postgres, template1 from public;
grant connect on database bonded to bonded;
alter role postgres password null;
SQL
