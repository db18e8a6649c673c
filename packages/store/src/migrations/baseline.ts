import type { Step } from './migrations.ts'

/** What the two databases spell differently. */
interface Spelling {
  /** The type of a key that SQLite stores as the address of the row itself. */
  readonly integer: string
  /** The column that numbers the rows of a table in the order of their insertion. */
  readonly ordinal: string
  /** The columns of an event that only one database needs. */
  readonly eventColumns: string
  /** Stores the rows in the order of the primary key. */
  readonly clustered: string
}

const TENANTS = [
  `create table tenant (
    id text primary key, name text not null, environment text not null, demo bigint not null,
    origins text not null, workflows text not null, created_at bigint not null, limits text,
    logo text, notifies bigint not null default 0, session_endpoint text, suspended_at bigint,
    retention text)`,
  `create table tenant_origin (
    tenant_id text not null, origin text not null, primary key (tenant_id, origin))`,
  'create index tenant_origin_by_origin on tenant_origin (origin)',
  // The bytes are apart, so that no call reads them.
  'create table tenant_logo (tenant_id text primary key, name text not null, bytes bytea not null)',
  'create index tenant_logo_by_name on tenant_logo (name)',
  `create table server_credential (
    key_id text primary key, tenant_id text not null, hash bytea not null, last4 text not null,
    scope text, name text, created_at bigint not null, revoked_at bigint, expires_at bigint,
    last_used_at bigint)`,
  `create index server_credential_by_expiry on server_credential (expires_at)
    where expires_at is not null`,
  `create table publishable_key (
    publishable_key text primary key, tenant_id text not null, scope text, name text,
    created_at bigint not null, revoked_at bigint)`,
]

const DEVICES = [
  // The columns in JSON, such as `webauthn`, are read with the device and never searched.
  // `request_issued_at` is the latest time of requests for a token or a change of keys: the
  // replay protection of keys whose counter stays 0.
  `create table device (
    id text primary key, subject_id text not null, added_by text, format text not null,
    key_id text not null unique, public_key bytea not null, counter bigint not null,
    environment text not null, status text not null, app_id text not null, webauthn text,
    build text, created_at bigint not null, last_issued_at bigint, request_issued_at bigint,
    token_id text not null unique, token_hash bytea not null, token_issued_at bigint,
    offered_token_id text, offered_token_hash bytea, offered_token_issued_at bigint,
    browser_key_id text, browser_rp_id text, browser_counter bigint,
    browser_public_key bytea, browser_key text)`,
  'create index device_by_subject on device (subject_id)',
  `create unique index device_by_offered_token on device (offered_token_id)
    where offered_token_id is not null`,
  // At each start the service reads which relying party ids its keys have.
  `create index device_by_rp_id on device (app_id)
    where format = 'webauthn' and status <> 'removed'`,
  'create index device_by_browser_key on device (browser_key_id) where browser_key_id is not null',
  `create index device_by_browser_rp_id on device (browser_rp_id)
    where browser_rp_id is not null and status <> 'removed'`,
  'create table device_receipt (device_id text primary key, finding text not null, receipt bytea)',
  `create table device_continuity (
    tenant_id text not null, device_id text not null, mean text not null,
    updated_at bigint not null, completed_at bigint, primary key (tenant_id, device_id))`,
  // At most eight windows, read and written together. The table stores no motion features.
  `create table device_motion (
    device_id text primary key, root_key_id text not null, windows bytea not null)`,
  `create table device_event (
    device_id text not null, seq bigint not null, at bigint not null, kind text not null,
    step text, request_id text, primary key (device_id, seq))`,
  'create table used_challenge (challenge text primary key, expires_at bigint not null)',
  // A purge deletes the oldest first, a batch at a time.
  'create index used_challenge_by_expiry on used_challenge (expires_at)',
]

const SUBJECTS = [
  'create table blocked_subject (subject_id text primary key, blocked_at bigint not null)',
  `create table pairwise_subject (
    tenant_id text not null, subject_id text not null, subject_ref text not null,
    blocked_at bigint, inbox_paused_until bigint not null default 0,
    inbox_reports integer not null default 0,
    primary key (tenant_id, subject_id))`,
  // No subject may answer to the reference of another.
  'create unique index pairwise_subject_by_ref on pairwise_subject (tenant_id, subject_ref)',
  `create table inbox_caller (
    tenant_id text not null, subject_id text not null, key_id text not null,
    asked_at bigint not null, since_approval bigint not null,
    since_answer bigint not null, woken_at bigint not null default 0,
    primary key (subject_id, tenant_id, key_id))`,
  'create table push_key (number bigint primary key, sealed text not null)',
  `create table push_subscription (
    device_id text primary key, subject_id text not null, endpoint text not null)`,
  'create index push_subscription_by_subject on push_subscription (subject_id)',
  'create index push_subscription_by_endpoint on push_subscription (endpoint)',
]

const REJECTIONS_AND_TOTALS = [
  `create table rejection (
    tenant_id text not null, at bigint not null, request_id text not null,
    session_id text not null, subject_ref text, reason text not null, step text,
    primary key (tenant_id, at, request_id))`,
  'create index rejection_by_age on rejection (at)',
  'create index rejection_by_request on rejection (request_id)',
  'create index rejection_by_session on rejection (session_id)',
  `create index rejection_by_subject on rejection (tenant_id, subject_ref, at)
    where subject_ref is not null`,
  `create table session_total (
    tenant_id text not null, workflow text not null, hour bigint not null,
    created bigint not null, inbox bigint not null, approved bigint not null,
    completed bigint not null, declined bigint not null, reported bigint not null,
    expired bigint not null, stopped bigint not null, step_ups bigint not null,
    browser_proofs bigint not null, rejections bigint not null, latency_ms bigint not null,
    latency_0 bigint not null, latency_1 bigint not null, latency_2 bigint not null,
    latency_3 bigint not null, latency_4 bigint not null, latency_5 bigint not null,
    latency_6 bigint not null, latency_7 bigint not null,
    primary key (tenant_id, hour, workflow))`,
  'create index session_total_by_hour on session_total (hour)',
  `create table session_total_head (
    number bigint primary key, counted_until bigint not null)`,
  'insert into session_total_head (number, counted_until) values (1, 0)',
]

const RECEIPTS = [
  `create table receipt (
    session_id text not null, state text not null, tenant_id text not null,
    workflow text not null, action text not null, browser_commitment text, jws text not null,
    made_at bigint not null, log_index bigint, primary key (session_id, state))`,
  // A purge reads the rows of each tenant up to the end of its period.
  'create index receipt_by_age on receipt (tenant_id, made_at)',
  'create index receipt_unlogged on receipt (made_at) where log_index is null',
  // One row: the head of the log.
  `create table receipt_log (
    number bigint primary key, size bigint not null, audit_size bigint not null default 0,
    checkpoint text not null, checkpoint_size bigint not null,
    cosigned text not null default '', cosigned_size bigint not null default 0,
    cosigned_at bigint not null default 0, witness_due_at bigint not null default 0,
    epoch text not null default '', begun_at bigint not null default 0,
    server text not null default '', is_synchronous bigint not null default 0,
    refused text not null default '')`,
  `insert into receipt_log (number, size, checkpoint, checkpoint_size) values (1, 0, '', 0)`,
  `create table receipt_log_tile (
    level bigint not null, tile bigint not null, hashes bytea not null, entries bytea,
    appended_at bigint not null, primary key (level, tile))`,
  // Logs that were closed after a loss of entries.
  `create table receipt_log_closed (
    epoch text primary key, next_epoch text not null, checkpoint text not null,
    checkpoint_size bigint not null, cosigned text not null, cosigned_size bigint not null,
    closed_at bigint not null, reason text not null, statement text not null default '')`,
]

const AUDIT_AND_SETTINGS = [
  `create table audit_entry (
    number bigint primary key, at bigint not null, action text not null,
    actor_kind text not null, actor text not null, issuer text, address text,
    request_id text not null, tenant_id text, person text, target text not null,
    value_before text, value_after text, result text not null, reason text,
    previous text not null, content_hash text)`,
  'create index audit_entry_by_age on audit_entry (at)',
  'create index audit_entry_by_person on audit_entry (person, number) where person is not null',
  'create index audit_entry_by_tenant on audit_entry (tenant_id, number)',
  `create index audit_entry_with_content on audit_entry (tenant_id, at)
    where content_hash is null`,
  'create table audit_person_key (subject_id text primary key, key text not null)',
  // Settings that versions know.
  'create table known_setting (name text primary key, version text not null)',
  // The level of nodes that the features in use need.
  'create table used_level (number bigint primary key, level integer not null)',
  'insert into used_level (number, level) values (1, 0)',
]

/**
 * The schema of version 0.1.0. It may change until 0.1.0 is tagged, and never after: every later
 * change is a step of its own in `migrations.ts`, because each database stores the checksums of its
 * steps. The types are those that SQLite and PostgreSQL share: text, bigint (milliseconds,
 * counters), bytea. `personal-data.ts` says what each column is for.
 */
export const BASELINE: Step = {
  number: 1,
  name: 'schema of 0.1.0',
  statements: schema({
    integer: 'integer',
    ordinal: 'ordinal integer primary key',
    // SQLite numbers the rows of every table, and has one writer.
    eventColumns: '',
    clustered: ' without rowid',
  }),
  postgres: [
    ...schema({
      integer: 'bigint',
      ordinal: 'ordinal bigint generated always as identity primary key',
      // A publication names a deleted row by its key. A node finds by the transaction what others
      // have committed since its last read.
      eventColumns: `ordinal bigint generated always as identity primary key,
        xid xid8 not null default pg_current_xact_id(), `,
      clustered: '',
    }),
    'create index session_event_by_xid on session_event (xid) where seq is not null',
    // Messages between nodes. A file of SQLite belongs to one node.
    `create unlogged table node_message (
      node text not null, number bigint not null, text text not null,
      level integer not null,
      sent_at timestamptz not null default clock_timestamp(), primary key (node, number))`,
    'create index node_message_by_time on node_message (sent_at)',
    // Settings that all nodes share.
    `create table node_setting (
      name text primary key, salt text not null, hash text not null,
      stored_at timestamptz not null default clock_timestamp())`,
  ],
}

function schema(spelling: Spelling): readonly string[] {
  return [
    ...TENANTS,
    ...DEVICES,
    ...SUBJECTS,
    ...sessions(spelling),
    ...REJECTIONS_AND_TOTALS,
    ...webhooks(spelling),
    ...RECEIPTS,
    ...AUDIT_AND_SETTINGS,
  ]
}

function sessions({ integer, eventColumns, clustered }: Spelling): readonly string[] {
  return [
    // One row: the key of session ids, encrypted under the root keys.
    'create table session_id_key (number bigint primary key, sealed text not null)',
    // Session ids are random. The integer key rises with time, so that sessions of one time, and
    // their events, share pages.
    `create table session (
      session_key ${integer} primary key, id text not null, tenant_id text not null,
      root_key_id text not null, state text not null, seq bigint not null, hint text,
      workflow text not null, action text not null, policy text not null,
      created_at bigint not null, expires_at bigint not null, session_ttl_ms bigint not null,
      challenge_ttl_ms bigint not null, bonded_ttl_ms bigint not null, pending_until bigint,
      bonded_at bigint, completed_at bigint, ended_at bigint, ended_reason text, decline_note text,
      outcome text,
      context text, wanted_subject_ref text, subject_ref text, inbox_subject_id text,
      quorum_id text, phone_number text, end_user_address text, requesting_origin text, device_id text,
      claimed_nonce text, claimed_at bigint, valid_assertions bigint not null, bond_digest text,
      bond_proof text, verification text, step_up text, browser_proof text, receipt_due_at bigint,
      notifies bigint not null default 0)`,
    // Live sessions by expiry (sweeper), ended ones by end (purge). Each session is in one of these
    // partial indexes.
    'create index session_live on session (expires_at) where ended_at is null',
    'create index session_ended on session (tenant_id, ended_at) where ended_at is not null',
    'create index session_receipt_due on session (receipt_due_at) where receipt_due_at is not null',
    `create index session_by_inbox on session (inbox_subject_id, created_at)
      where inbox_subject_id is not null`,
    'create index session_by_quorum on session (quorum_id) where quorum_id is not null',
    `create table session_event (
      ${eventColumns}session_key bigint not null, seq bigint, at bigint not null,
      kind text not null, state text, hint text, reason text, step text, request_id text,
      key_id text)`,
    'create unique index session_event_by_seq on session_event (session_key, seq)',
    `create table session_device (
      session_key bigint not null, device_id text not null, failures bigint not null,
      primary key (session_key, device_id))`,
    `create table idempotency (
      session_began_at bigint not null, key_hash bytea not null, body_mac text not null,
      root_key_id text not null, session_id text not null,
      primary key (session_began_at, key_hash))${clustered}`,
    'create unique index idempotency_by_key on idempotency (key_hash)',
  ]
}

function webhooks({ ordinal }: Spelling): readonly string[] {
  return [
    `create table webhook_endpoint (
      id text primary key, tenant_id text not null, url text not null, events text,
      scheme text not null, secrets text not null, previous_until bigint,
      created_at bigint not null, disabled_at bigint, disabled_reason text,
      failures bigint not null default 0, paused_until bigint not null default 0,
      last_attempt_at bigint not null default 0, leased_until bigint not null default 0,
      logged_characters bigint not null default 80, audit_position bigint not null default 0)`,
    'create index webhook_endpoint_by_tenant on webhook_endpoint (tenant_id)',
    'create index webhook_endpoint_failing on webhook_endpoint (failures) where failures > 0',
    // Both the queue and the log.
    `create table webhook_delivery (
      ${ordinal}, event_id text not null, endpoint_id text not null, tenant_id text not null,
      session_id text, type text not null, payload text not null, created_at bigint not null,
      state text not null, due_at bigint, attempts bigint not null default 0,
      history text not null default '[]')`,
    'create unique index webhook_delivery_by_event on webhook_delivery (event_id, endpoint_id)',
    `create index webhook_delivery_waiting on webhook_delivery (endpoint_id, due_at)
      where due_at is not null`,
    'create index webhook_delivery_by_tenant on webhook_delivery (tenant_id, ordinal)',
    // Finds the deliveries of a tenant in one state without reading its other ones.
    'create index webhook_delivery_by_state on webhook_delivery (tenant_id, state, ordinal)',
    'create index webhook_delivery_by_age on webhook_delivery (created_at)',
    'create index webhook_delivery_by_tenant_age on webhook_delivery (tenant_id, created_at)',
  ]
}
