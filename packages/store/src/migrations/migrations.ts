import { IDEMPOTENCY_HASH } from '../tables/idempotency-hash.ts'
import { STEPS_FROM_24 } from './steps-from-24.ts'

/** The columns of a session at step 14. */
const SESSION_COLUMNS = `id, tenant_id, root_key_id, state, seq, hint, workflow, action, policy,
        created_at, expires_at, session_ttl_ms, challenge_ttl_ms, bonded_ttl_ms,
        pending_until, bonded_at, completed_at, ended_at, ended_reason, context, wanted_subject_ref,
        subject_ref, phone_number, end_user_address, requesting_origin, device_id, claimed_nonce, claimed_at,
        valid_assertions, bond_digest, verification, step_up`

/**
 * The steps of the schema. A released step never changes, because every database stores its
 * checksum. The types are those that SQLite and PostgreSQL share: text, bigint (milliseconds,
 * counters), bytea.
 */
export const MIGRATIONS: readonly {
  readonly number: number
  readonly name: string
  readonly statements: readonly string[]
  /** The statements for PostgreSQL, where they differ. */
  readonly postgres?: readonly string[]
  /**
   * Whether the version before can work with the result, because the step only adds what that
   * version does not write. On PostgreSQL such a version may run beside this one.
   */
  readonly expands?: true
}[] = [
  {
    number: 1,
    name: 'tenants, devices, sessions',
    statements: [
      `create table tenant (
        id text primary key, name text not null, environment text not null, demo bigint not null,
        origins text not null, workflows text not null, created_at bigint not null)`,
      `create table tenant_origin (
        tenant_id text not null, origin text not null, primary key (tenant_id, origin))`,
      `create index tenant_origin_by_origin on tenant_origin (origin)`,
      `create table server_credential (
        key_id text primary key, tenant_id text not null, hash bytea not null, last4 text not null,
        scope text, created_at bigint not null, revoked_at bigint)`,
      `create table publishable_key (
        publishable_key text primary key, tenant_id text not null, scope text, created_at bigint not null, revoked_at bigint)`,
      `create table device (
        id text primary key, subject_id text not null, format text not null, key_id text not null unique,
        public_key bytea not null, environment text not null, status text not null, app_id text not null,
        counter bigint not null, last_issued_at bigint, created_at bigint not null,
        token_id text not null unique, token_hash bytea not null)`,
      `create table used_challenge (challenge text primary key, expires_at bigint not null)`,
      `create table pairwise_subject (
        tenant_id text not null, subject_id text not null, subject_ref text not null, primary key (tenant_id, subject_id))`,
      `create table device_continuity (
        tenant_id text not null, device_id text not null, mean text not null, updated_at bigint not null,
        primary key (tenant_id, device_id))`,
      `create table session (
        id text primary key, tenant_id text not null, root_key_id text not null,
        state text not null, seq bigint not null, hint text,
        workflow text not null, action text not null, policy text not null,
        created_at bigint not null, expires_at bigint not null,
        session_ttl_ms bigint not null, challenge_ttl_ms bigint not null, bonded_ttl_ms bigint not null,
        pending_until bigint, bonded_at bigint, completed_at bigint, ended_at bigint, ended_reason text,
        context text, wanted_subject_ref text, subject_ref text, phone_number text, end_user_address text,
        requesting_origin text, device_id text, claimed_nonce text, claimed_at bigint,
        valid_assertions bigint not null, bond_digest text, verification text, step_up text)`,
      // Live sessions by expiry (sweeper), ended ones by end (retention). Each session is in one of
      // these partial indexes.
      `create index session_live on session (expires_at) where ended_at is null`,
      `create index session_ended on session (ended_at) where ended_at is not null`,
      `create table session_event (
        session_id text not null, seq bigint, at bigint not null, kind text not null,
        state text, hint text, reason text, step text)`,
      `create unique index session_event_by_seq on session_event (session_id, seq)`,
      `create table session_device (
        session_id text not null, device_id text not null, failures bigint not null, primary key (session_id, device_id))`,
      `create table idempotency (
        tenant_id text not null, idempotency_key text not null, body_mac text not null, root_key_id text not null,
        session_id text not null, primary key (tenant_id, idempotency_key))`,
      `create index idempotency_by_session on idempotency (session_id)`,
    ],
  },
  {
    number: 2,
    name: 'the request of an event; used challenges by expiry',
    statements: [
      `alter table session_event add column request_id text`,
      // Retention deletes the oldest first, a batch at a time.
      `create index used_challenge_by_expiry on used_challenge (expires_at)`,
    ],
  },
  {
    number: 3,
    name: 'limits of a tenant',
    statements: ['alter table tenant add column limits text'],
  },
  {
    number: 4,
    name: 'events lie by when their session began',
    statements: [
      'alter table session_event add column session_began_at bigint',
      'update session_event set session_began_at = (select created_at from session where session.id = session_event.session_id)',
      // Session ids are random: an index that starts with one would write a separate page for every
      // event.
      'drop index session_event_by_seq',
      'create unique index session_event_by_seq on session_event (session_began_at, session_id, seq)',
    ],
  },
  {
    number: 5,
    name: 'what a registration proved of a key',
    statements: [
      // JSON, because the columns are read with the device and never searched.
      'alter table device add column webauthn text',
      'alter table device add column build text',
      'create table device_receipt (device_id text primary key, finding text not null, receipt bytea)',
    ],
  },
  {
    number: 6,
    name: 'how a phone was moved before, as keyed marks',
    // At most eight windows, read and written together. The table stores no motion features.
    statements: [
      'create table device_motion (device_id text primary key, root_key_id text not null, windows bytea not null)',
    ],
  },
  {
    number: 7,
    name: 'no phone number rests plain',
    statements: [
      // Steps up to 5 stored unsealed numbers. An E.164 number starts with a plus, a sealed one
      // does not.
      `update session set phone_number = null where phone_number like '+%'`,
    ],
  },
  {
    number: 8,
    name: 'what becomes of a device; a token that is offered beside the one in use',
    statements: [
      `create table device_event (
        device_id text not null, seq bigint not null, at bigint not null, kind text not null, step text, request_id text,
        primary key (device_id, seq))`,
      'alter table device add column offered_token_id text',
      'alter table device add column offered_token_hash bytea',
      'create unique index device_by_offered_token on device (offered_token_id) where offered_token_id is not null',
    ],
  },
  {
    number: 9,
    name: 'Idempotency-Keys lie by when their session began',
    statements: [
      'alter table idempotency add column session_began_at bigint',
      'update idempotency set session_began_at = (select created_at from session where session.id = idempotency.session_id)',
      // As for events in step 4, this saves one page for every key that is stored or purged.
      'drop index idempotency_by_session',
      'create index idempotency_by_session on idempotency (session_began_at, session_id)',
    ],
  },
  {
    number: 10,
    name: 'names of keys',
    statements: [
      'alter table server_credential add column name text',
      'alter table publishable_key add column name text',
    ],
  },
  {
    number: 11,
    name: 'the keys of a subject: who approved a key, blocked subjects, the age of a token',
    statements: [
      'alter table device add column added_by text',
      // The latest issued_at of requests for a token or a change of keys: the replay protection of
      // keys whose counter stays 0.
      'alter table device add column request_issued_at bigint',
      'alter table device add column token_issued_at bigint',
      'alter table device add column offered_token_issued_at bigint',
      // Earlier steps do not store when a token was issued. Its registration is the earliest time
      // possible.
      'update device set token_issued_at = created_at',
      'update device set offered_token_issued_at = created_at where offered_token_id is not null',
      'create table blocked_subject (subject_id text primary key, blocked_at bigint not null)',
      'create index device_by_subject on device (subject_id)',
    ],
  },
  {
    number: 12,
    name: 'the server credential of an event',
    statements: ['alter table session_event add column key_id text'],
  },
  {
    number: 13,
    name: 'logos of tenants',
    statements: [
      // The bytes are apart, so that no call reads them.
      'alter table tenant add column logo text',
      'create table tenant_logo (tenant_id text primary key, name text not null, bytes bytea not null)',
      'create index tenant_logo_by_name on tenant_logo (name)',
    ],
  },
  {
    number: 14,
    name: 'sessions by an integer key in time order',
    statements: keyedSessions({ keyType: 'integer', eventOrder: 'session_event.rowid' }),
    postgres: keyedSessions({
      keyType: 'bigint',
      eventOrder: 'session_event.at, coalesce(session_event.seq, 0)',
    }),
  },
  {
    number: 15,
    name: 'what several nodes need: the order and the transaction of each event',
    // SQLite has one writer and numbers the rows of every table.
    statements: [],
    postgres: [
      'alter table session_event add column ordinal bigint generated always as identity',
      // A node finds by it what others have committed since its last look.
      'alter table session_event add column xid xid8 not null default pg_current_xact_id()',
      'create index session_event_by_xid on session_event (xid) where seq is not null',
    ],
    expands: true,
  },
  {
    number: 16,
    name: 'messages between nodes',
    // A file of SQLite belongs to one node.
    statements: [],
    postgres: [
      `create unlogged table node_message (
        node text not null, number bigint not null, text text not null,
        sent_at timestamptz not null default clock_timestamp(), primary key (node, number))`,
    ],
    expands: true,
  },
  {
    number: 17,
    name: 'Idempotency-Keys by a short hash, in the order of their sessions',
    statements: hashedKeys({
      hash: `${IDEMPOTENCY_HASH}(tenant_id, idempotency_key)`,
      clustered: ' without rowid',
    }),
    postgres: hashedKeys({
      hash: `substring(sha256(convert_to(tenant_id || chr(10) || idempotency_key, 'UTF8')) for 16)`,
      clustered: '',
    }),
  },
  {
    number: 18,
    name: 'what a backend said at completion',
    statements: ['alter table session add column outcome text'],
    expands: true,
  },
  {
    number: 19,
    name: 'messages between nodes by their time',
    statements: [],
    postgres: ['create index node_message_by_time on node_message (sent_at)'],
    expands: true,
  },
  {
    number: 20,
    name: 'settings that all nodes share',
    statements: [],
    postgres: [
      `create table node_setting (
        name text primary key, salt text not null, hash text not null,
        stored_at timestamptz not null default clock_timestamp())`,
    ],
    expands: true,
  },
  {
    number: 21,
    name: 'completed bonds of a device; the rules for unattested keys that production workflows had by default',
    statements: unattestedKeys(
      `select json_group_array(json(case
          when value ->> 'webauthn' is null then json_set(value, '$.webauthn', 'attested')
          when value ->> 'webauthn' = 'attested' then value
          else json_set(value, '$.unattested', 'named') end) order by key)
        from json_each(workflows)`,
    ),
    postgres: unattestedKeys(
      `select coalesce(jsonb_agg(case
          when workflow ->> 'webauthn' is null then workflow || '{"webauthn": "attested"}'
          when workflow ->> 'webauthn' = 'attested' then workflow
          else workflow || '{"unattested": "named"}' end order by place), '[]')::text
        from jsonb_array_elements(workflows::jsonb) with ordinality as w (workflow, place)`,
    ),
    expands: true,
  },
  {
    number: 22,
    name: 'relying party ids of browser keys',
    // At each start the service reads which ones its keys have.
    statements: [
      `create index device_by_rp_id on device (app_id) where format = 'webauthn' and status <> 'removed'`,
    ],
    expands: true,
  },
  {
    number: 23,
    name: 'the proof of the browser',
    statements: ['alter table session add column browser_leg text'],
    expands: true,
  },
  ...STEPS_FROM_24,
]

/**
 * Adds the time of the first completed bond, and writes into the workflows of production tenants
 * the rules for unattested keys that applied to them without being written.
 *
 * @param workflows the query for the new list of a tenant's workflows
 */
function unattestedKeys(workflows: string): readonly string[] {
  return [
    'alter table device_continuity add column completed_at bigint',
    `update tenant set workflows = (${workflows}) where environment = 'production'`,
  ]
}

/**
 * Copies the Idempotency-Keys to a table with their hashes.
 *
 * @param options.hash `idempotencyHash` as an SQL expression
 * @param options.clustered what makes SQLite store the rows in the order of the primary key
 */
function hashedKeys({ hash, clustered }: { hash: string; clustered: string }): readonly string[] {
  return [
    `create table hashed_idempotency (
      session_began_at bigint not null, key_hash bytea not null, body_mac text not null,
      root_key_id text not null, session_id text not null,
      primary key (session_began_at, key_hash))${clustered}`,
    // A key without the time belongs to a session that was purged before step 9.
    `insert into hashed_idempotency (session_began_at, key_hash, body_mac, root_key_id, session_id)
      select session_began_at, ${hash}, body_mac, root_key_id, session_id
      from idempotency where session_began_at is not null`,
    'drop table idempotency',
    'alter table hashed_idempotency rename to idempotency',
    'create unique index idempotency_by_key on idempotency (key_hash)',
  ]
}

/**
 * Copies the sessions to tables with an integer key.
 *
 * @param options.keyType SQLite stores an `integer primary key` as the address of the row itself.
 *   PostgreSQL needs `bigint`
 * @param options.eventOrder the order in which the events were stored
 */
function keyedSessions(options: {
  readonly keyType: 'integer' | 'bigint'
  readonly eventOrder: string
}): readonly string[] {
  const { keyType, eventOrder } = options
  return [
    // One row: the key of session ids, encrypted under the root keys.
    'create table session_id_key (number bigint primary key, sealed text not null)',
    // Ids from before this step are random, so they do not give a key. The table is empty a day
    // later.
    'create table session_old_id (id text primary key, session_key bigint not null)',
    `insert into session_old_id (id, session_key)
      select id, row_number() over (order by created_at, id) from session`,
    'create index session_old_id_by_key on session_old_id (session_key)',
    `create table keyed_session (
      session_key ${keyType} primary key, id text not null, tenant_id text not null, root_key_id text not null,
      state text not null, seq bigint not null, hint text,
      workflow text not null, action text not null, policy text not null,
      created_at bigint not null, expires_at bigint not null,
      session_ttl_ms bigint not null, challenge_ttl_ms bigint not null, bonded_ttl_ms bigint not null,
      pending_until bigint, bonded_at bigint, completed_at bigint, ended_at bigint, ended_reason text,
      context text, wanted_subject_ref text, subject_ref text, phone_number text, end_user_address text,
      requesting_origin text, device_id text, claimed_nonce text, claimed_at bigint,
      valid_assertions bigint not null, bond_digest text, verification text, step_up text)`,
    `insert into keyed_session (session_key, ${SESSION_COLUMNS})
      select session_old_id.session_key, ${SESSION_COLUMNS}
      from session join session_old_id using (id) order by session_old_id.session_key`,
    `create table keyed_event (
      session_key bigint not null, seq bigint, at bigint not null, kind text not null,
      state text, hint text, reason text, step text, request_id text, key_id text)`,
    `insert into keyed_event (session_key, seq, at, kind, state, hint, reason, step, request_id, key_id)
      select session_key, seq, at, kind, state, hint, reason, step, request_id, key_id
      from session_event join session_old_id on session_old_id.id = session_event.session_id order by ${eventOrder}`,
    `create table keyed_device (
      session_key bigint not null, device_id text not null, failures bigint not null,
      primary key (session_key, device_id))`,
    `insert into keyed_device (session_key, device_id, failures)
      select session_key, device_id, failures
      from session_device join session_old_id on session_old_id.id = session_device.session_id`,
    'drop table session',
    'drop table session_event',
    'drop table session_device',
    'alter table keyed_session rename to session',
    'alter table keyed_event rename to session_event',
    'alter table keyed_device rename to session_device',
    'create index session_live on session (expires_at) where ended_at is null',
    'create index session_ended on session (ended_at) where ended_at is not null',
    'create unique index session_event_by_seq on session_event (session_key, seq)',
  ]
}
