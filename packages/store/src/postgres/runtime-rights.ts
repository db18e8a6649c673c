import { StoreError } from '@bonded/core/ports/store'
import type { Row } from '../statement.ts'
import type { Connection } from './server/connections.ts'

/**
 * What nodes do with each table. A role with no more cannot change the schema, the list of
 * migrations, or the events of a session. `update` also permits to lock a row.
 */
const RIGHTS: Readonly<Record<string, string>> = {
  audit_entry: 'select, insert, update, delete',
  audit_person_key: 'select, insert, delete',
  blocked_subject: 'select, insert, delete',
  device: 'select, insert, update, delete',
  device_continuity: 'select, insert, update, delete',
  device_event: 'select, insert, delete',
  device_motion: 'select, insert, update, delete',
  device_receipt: 'select, insert, delete',
  idempotency: 'select, insert, update, delete',
  inbox_caller: 'select, insert, update, delete',
  known_setting: 'select, insert',
  migration: 'select',
  node_message: 'select, insert, update, delete',
  node_setting: 'select, insert, delete',
  pairwise_subject: 'select, insert, update, delete',
  publishable_key: 'select, insert, update',
  push_key: 'select, insert, update',
  push_subscription: 'select, insert, update, delete',
  receipt: 'select, insert, update, delete',
  receipt_log: 'select, update',
  receipt_log_closed: 'select, insert, update',
  receipt_log_tile: 'select, insert, update, delete',
  rejection: 'select, insert, delete',
  server_credential: 'select, insert, update',
  session: 'select, insert, update, delete',
  session_device: 'select, insert, update, delete',
  session_event: 'select, insert, delete',
  session_id_key: 'select, insert, update',
  session_total: 'select, insert, update, delete',
  session_total_head: 'select, update',
  tenant: 'select, insert, update',
  tenant_logo: 'select, insert, delete',
  tenant_origin: 'select, insert, delete',
  used_challenge: 'select, insert, update, delete',
  used_level: 'select, update',
  webhook_delivery: 'select, insert, update, delete',
  webhook_endpoint: 'select, insert, update, delete',
}

/** The role of a connection, and what it may do. */
export interface SchemaRights {
  readonly role: string
  /** Whether it may change the tables, or create them if there are none. */
  readonly mayMigrate: boolean
  /** The existing tables of which it lacks a right that nodes need. */
  readonly unusable: readonly string[]
}

const FIND = `select current_user as role,
  coalesce((select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('migration')),
    has_schema_privilege(current_schema(), 'create')) as may_migrate,
  array(select distinct k.name from unnest($1::text[], $2::text[]) as k (name, needed)
    where to_regclass(k.name) is not null and not has_table_privilege(to_regclass(k.name), k.needed)
    order by k.name) as unusable`

export async function schemaRights(connection: Connection): Promise<SchemaRights> {
  const needed = Object.entries(RIGHTS).flatMap(([table, rights]) =>
    rights.split(', ').map((right) => [table, right] as const),
  )
  const values = [needed.map(([table]) => table), needed.map(([, right]) => right)].map(arrayOf)
  const [row] = (await connection.run({ text: FIND, values })) as readonly Row[]
  // The driver converts Booleans and arrays, which no table has and `Row` therefore lacks.
  const found = row as unknown as { role: string; may_migrate: boolean; unusable: string[] }
  return { role: found.role, mayMigrate: found.may_migrate, unusable: found.unusable }
}

/** Names of this file, which need no quotes in an array of SQL. */
function arrayOf(names: readonly string[]): string {
  return `{${names.join()}}`
}

const CHECK = `select pg_has_role($1, current_user, 'usage') as is_owner,
    has_schema_privilege($1, current_schema(), 'create') as may_create,
    current_schema() as schema
  from pg_roles where rolname = $1`

/**
 * Gives a role the rights that nodes need, and takes every other right on the tables from it.
 *
 * @throws {StoreError} if there is no such role, or it could change the schema all the same
 */
export async function grantRuntimeRights(
  connection: Connection,
  { role, where }: { role: string; where: string },
): Promise<void> {
  const [row] = (await connection.run({ text: CHECK, values: [role] })) as readonly Row[]
  const problem =
    row === undefined
      ? `the role ${role} does not exist. Create it, or name another one.`
      : row.is_owner
        ? `the role ${role} has all rights of the role that migrates. Name a role that is not a superuser, and not a member of it.`
        : row.may_create
          ? `the role ${role} can create tables in the schema ${String(row.schema)}. Run as a superuser in this database: revoke create on schema ${String(row.schema)} from public, ${role}.`
          : undefined
  if (problem !== undefined)
    throw new StoreError(`${where} cannot be used: ${problem}`, { kind: 'unsuitable', where })
  const to = `"${role.replaceAll('"', '""')}"`
  const schema = `"${String(row?.schema).replaceAll('"', '""')}"`
  const statements = [
    `grant usage on schema ${schema} to ${to}`,
    `revoke all on all tables in schema ${schema} from ${to}`,
    ...Object.entries(RIGHTS).map(([table, rights]) => `grant ${rights} on ${table} to ${to}`),
    // A backup reads their values.
    `grant select on all sequences in schema ${schema} to ${to}`,
  ]
  for (const text of statements) await connection.run({ text, values: [] })
}

/**
 * Fails at the start on a database whose schema this role may not complete.
 *
 * @throws {StoreError} with the command that completes it
 */
export function rejectUnmigrated(
  { role, unusable }: SchemaRights,
  { pending, where }: { pending: readonly string[]; where: string },
): never {
  const steps = pending.length === 1 ? 'the migration' : 'the migrations'
  const lacks =
    pending.length === 0
      ? `the role ${role} lacks rights on ${unusable.join(', ')}`
      : `it lacks ${steps} ${pending.join(', ')}, and the role ${role} may not change the schema`
  throw new StoreError(
    `${where} is not ready for this version: ${lacks}. Run this command of this version with the role that owns the database: bonded migrate up --runtime-role ${role}`,
    { kind: 'not_migrated', where },
  )
}
