import type { RetentionKind } from '@bonded/core/domain/retention'

/**
 * What a column has of a user, and what an erasure does with it:
 *
 * - `personal`: describes or identifies a user, their phone, or their browser. Exported, and
 *   deleted with its row.
 * - `emptied`: as `personal`. In a session that was running, which stays until its retention ends,
 *   it is emptied at once.
 * - `secret`: as `personal`, but proves or verifies a secret, and is not exported.
 * - `plain`: says nothing about a user without the other columns of its row, and goes with the row.
 * - `kept`: of no user.
 */
export type ColumnKind = 'personal' | 'emptied' | 'secret' | 'plain' | 'kept'

/** Names of columns, separated by spaces, what they have, and what for. */
type ColumnGroup = readonly [columns: string, kind: ColumnKind, why: string]

interface TableData {
  /** Until when a row is stored without an erasure. */
  readonly until: string
  readonly columns: readonly ColumnGroup[]
}

/** The columns of a table, or those of one kind. */
export function columnNames(table: string, kind?: ColumnKind): readonly string[] {
  return (PERSONAL_DATA[table]?.columns ?? [])
    .filter((group) => kind === undefined || group[1] === kind)
    .flatMap(([names]) => names.split(' '))
}

/** The end of a retention that a tenant can have of its own. */
const orOwn = (usual: string, kind: RetentionKind) =>
  `${usual}, or the tenant’s days of \`${kind}\``

const SESSION_END = orOwn('24 hours after the end of the session', 'sessions')
const DEVICE_END = 'an erasure: it recognizes the phone, also after its removal'
const REMOVAL = 'the removal of the device'
const REJECTION_END = orOwn('`BONDED_REJECTION_RETENTION_DAYS`, 30 days by default', 'reasons')
const RECEIPT_END = orOwn('`BONDED_RECEIPT_RETENTION_DAYS`, 30 days by default', 'receipts')
const DELIVERY_END = orOwn('30 days after the event', 'deliveries')
const TENANT_END = 'the end of the tenant'
const SERVICE_END = 'the end of the database'

/**
 * Every column of every table of both stores. tests/personal-data.test.ts compares it with the
 * schema, and `npm run generate` writes docs/reference/personal-data.md from it.
 */
export const PERSONAL_DATA: Readonly<Record<string, TableData>> = {
  session: {
    until: SESSION_END,
    columns: [
      ['session_key id root_key_id seq', 'plain', 'finds the row and its events'],
      ['tenant_id workflow action policy', 'plain', 'what the backend asked for, and its rules'],
      ['state hint ended_reason outcome', 'plain', 'where the request is, or how it ended'],
      ['created_at expires_at pending_until bonded_at completed_at ended_at', 'plain', 'its times'],
      ['session_ttl_ms challenge_ttl_ms bonded_ttl_ms notifies', 'plain', 'its settings'],
      ['valid_assertions receipt_due_at', 'plain', 'what the service does next'],
      ['quorum_id', 'plain', 'finds the sessions that ask other people for the same action'],
      ['requesting_origin', 'plain', 'the site of the tenant, which the phone shows'],
      ['context', 'emptied', 'the request in the words of the backend, which the phone shows'],
      ['wanted_subject_ref subject_ref', 'emptied', "the tenant's pseudonym of the user"],
      ['inbox_subject_id', 'emptied', 'the user in whose inbox the session waits'],
      ['decline_note', 'emptied', 'why the user declined, in their words, for the backend'],
      ['phone_number', 'emptied', 'for the check by the carrier; sealed, and only until the bond'],
      ['end_user_address', 'emptied', 'the network of the browser, compared with the phone'],
      ['device_id claimed_at', 'emptied', 'the phone that claimed the session'],
      ['claimed_nonce bond_digest', 'emptied', 'recognizes a repeated call of that phone'],
      ['verification step_up browser_proof', 'emptied', 'what was proved, and what is missing'],
      ['bond_proof', 'emptied', 'what the phone signed, for the receipt'],
    ],
  },
  session_event: {
    until: SESSION_END,
    columns: [
      ['session_key seq', 'plain', 'finds the event'],
      ['at kind state hint reason step', 'plain', 'the timeline: what happened, and why'],
      ['request_id key_id', 'plain', 'the call and the key of the tenant that caused it'],
      ['ordinal xid', 'plain', 'the order of events between nodes; on PostgreSQL only'],
    ],
  },
  session_device: {
    until: SESSION_END,
    columns: [
      ['session_key failures', 'plain', 'ends a session after five failures'],
      ['device_id', 'personal', 'the phone that failed'],
    ],
  },
  session_total: {
    until: '400 days, or the end of the tenant',
    columns: [
      ['tenant_id workflow hour', 'kept', 'the hour that is counted'],
      ['created inbox approved completed declined reported expired stopped', 'kept', 'counts'],
      ['step_ups browser_proofs rejections', 'kept', 'counts'],
      [
        'latency_ms latency_0 latency_1 latency_2 latency_3 latency_4 latency_5 latency_6 latency_7',
        'kept',
        'how long approvals took, as a sum and as counts',
      ],
    ],
  },
  session_total_head: {
    until: SERVICE_END,
    columns: [['number counted_until', 'kept', 'up to when sessions are counted']],
  },
  session_id_key: {
    until: SERVICE_END,
    columns: [['number sealed', 'kept', 'encrypts session ids; sealed under the root keys']],
  },
  push_key: {
    until: SERVICE_END,
    columns: [['number sealed', 'kept', 'signs wake-ups; sealed under the root keys']],
  },
  idempotency: {
    until: '150 minutes after the creation of the session',
    columns: [
      ['session_began_at session_id root_key_id', 'plain', 'finds the session of the first call'],
      ['key_hash body_mac', 'plain', 'recognizes a repeated create; hashes of what a tenant sent'],
    ],
  },
  rejection: {
    until: REJECTION_END,
    columns: [
      ['tenant_id at request_id session_id', 'plain', 'finds the rejection of a call'],
      ['subject_ref', 'personal', 'finds the rejections of a user who asks the tenant'],
      ['reason step', 'plain', 'why the service rejected the call'],
    ],
  },
  receipt: {
    until: RECEIPT_END,
    columns: [
      ['session_id state tenant_id workflow action made_at', 'plain', 'finds the receipt'],
      ['log_index', 'plain', 'its entry in the log, which has only a hash'],
      ['browser_commitment', 'personal', 'lets the browser that bonded read the receipt'],
      ['jws', 'personal', 'the signed receipt: the request, the proof, the pseudonyms'],
    ],
  },
  receipt_log: {
    until: SERVICE_END,
    columns: [
      [
        'number size audit_size checkpoint checkpoint_size epoch begun_at',
        'kept',
        'the head of the log',
      ],
      ['cosigned cosigned_size cosigned_at witness_due_at', 'kept', 'what witnesses signed'],
      ['server is_synchronous refused', 'kept', 'notices a database that lost entries'],
    ],
  },
  receipt_log_closed: {
    until: SERVICE_END,
    columns: [
      ['epoch next_epoch checkpoint checkpoint_size statement', 'kept', 'the end of a former log'],
      ['cosigned cosigned_size closed_at reason', 'kept', 'what witnesses signed, and why'],
    ],
  },
  receipt_log_tile: {
    until: '`BONDED_RECEIPT_LOG_RETENTION_DAYS`, ten years by default',
    columns: [
      ['level tile hashes appended_at', 'kept', 'the tree of hashes'],
      ['entries', 'kept', 'hashes of receipts and audit entries, with 128 random bits each'],
    ],
  },
  webhook_endpoint: {
    until: 'its removal by the tenant',
    columns: [
      ['id tenant_id url events scheme secrets previous_until', 'kept', 'set by the tenant'],
      ['created_at disabled_at disabled_reason logged_characters', 'kept', 'its state'],
      ['failures paused_until last_attempt_at leased_until', 'kept', 'when it is tried again'],
      ['audit_position', 'kept', 'the last audit entry that the endpoint of the operator has'],
    ],
  },
  webhook_delivery: {
    until: DELIVERY_END,
    columns: [
      ['ordinal event_id endpoint_id tenant_id session_id type', 'plain', 'finds the delivery'],
      ['created_at state due_at attempts', 'plain', 'when the next attempt is due'],
      ['payload', 'personal', 'the event; that of a device has the pseudonyms of user and phone'],
      ['history', 'personal', 'the attempts, with the first characters of each response'],
    ],
  },
  device: {
    until: DEVICE_END,
    columns: [
      ['id subject_id added_by', 'personal', 'the pseudonyms of the phone and of its user'],
      ['key_id public_key counter last_issued_at', 'personal', 'verifies what the phone signs'],
      ['format app_id environment created_at webauthn build', 'personal', 'what the key proves'],
      ['status', 'personal', 'whether the phone is active, suspect, blocked, or removed'],
      ['token_id token_hash offered_token_id offered_token_hash', 'secret', 'recognizes the phone'],
      ['request_issued_at token_issued_at offered_token_issued_at', 'personal', 'rejects replays'],
      ['browser_key_id browser_public_key browser_key', 'personal', 'the passkey of the browser'],
      ['browser_rp_id browser_counter', 'personal', 'verifies what that passkey signs'],
    ],
  },
  push_subscription: {
    until: 'the removal, a block or a recovery of the device, or the end by its push service',
    columns: [
      ['device_id subject_id', 'personal', 'the phone, and its user'],
      ['endpoint', 'personal', 'where the push service of the browser wakes the phone'],
    ],
  },
  inbox_caller: {
    until:
      '3 days after the last request if the user has answered, or after the revocation; an erasure',
    columns: [
      ['subject_id', 'personal', 'the user whom the credential asks'],
      ['tenant_id key_id', 'plain', 'the credential of the tenant'],
      [
        'asked_at woken_at since_approval since_answer',
        'personal',
        'when it asked and woke the user, and how many requests the user has not answered',
      ],
    ],
  },
  device_continuity: {
    until: DEVICE_END,
    columns: [
      ['tenant_id', 'plain', 'the tenant that bonded with the phone'],
      ['device_id', 'personal', 'the phone'],
      ['mean updated_at completed_at', 'personal', 'how well its motion matched before, and when'],
    ],
  },
  device_event: {
    until: '200 later events of the device',
    columns: [
      ['device_id', 'personal', 'the phone'],
      ['seq at kind step', 'personal', 'when the phone was blocked, renewed, or added'],
      ['request_id', 'plain', 'the call that caused it'],
    ],
  },
  device_motion: {
    until: REMOVAL,
    columns: [
      ['device_id', 'personal', 'the phone'],
      ['root_key_id', 'plain', 'the key of the marks'],
      ['windows', 'personal', 'keyed marks of how the phone was moved; no motion can be read'],
    ],
  },
  device_receipt: {
    until: REMOVAL,
    columns: [
      ['device_id', 'personal', 'the phone'],
      ['finding receipt', 'personal', 'what Apple stated about the key at its registration'],
    ],
  },
  used_challenge: {
    until: 'five minutes after the registration',
    columns: [['challenge expires_at', 'kept', 'rejects a second registration; random']],
  },
  pairwise_subject: {
    until: DEVICE_END,
    columns: [
      ['tenant_id', 'plain', 'the tenant that knows the user'],
      ['subject_id subject_ref', 'personal', "the user, and the tenant's pseudonym of the user"],
      ['blocked_at', 'personal', 'whether the tenant has blocked the user'],
      ['inbox_paused_until inbox_reports', 'personal', 'whether the user has paused the tenant'],
    ],
  },
  blocked_subject: {
    until: 'the end of the block',
    columns: [['subject_id blocked_at', 'personal', 'a user that the operator has blocked']],
  },
  tenant: {
    until: TENANT_END,
    columns: [
      ['id name environment demo created_at logo', 'kept', 'the tenant, which the phone shows'],
      ['origins workflows limits notifies session_endpoint', 'kept', 'its settings'],
      ['suspended_at retention', 'kept', 'whether it is suspended, and its own periods'],
    ],
  },
  tenant_logo: {
    until: TENANT_END,
    columns: [['tenant_id name bytes', 'kept', 'the logo that the phone shows']],
  },
  tenant_origin: {
    until: TENANT_END,
    columns: [['tenant_id origin', 'kept', 'finds the tenant of a page']],
  },
  server_credential: {
    until: TENANT_END,
    columns: [
      ['key_id tenant_id hash last4 scope name', 'kept', 'verifies a call of the backend'],
      ['created_at revoked_at expires_at', 'kept', 'when it works'],
      ['last_used_at', 'kept', 'shows the operator which credentials are in use'],
    ],
  },
  publishable_key: {
    until: TENANT_END,
    columns: [
      ['publishable_key tenant_id scope name', 'kept', 'finds the tenant of a page'],
      ['created_at revoked_at', 'kept', 'when it works'],
    ],
  },
  node_message: {
    until: '10 seconds',
    columns: [
      ['node number text level sent_at', 'kept', 'sealed messages between nodes; PostgreSQL'],
    ],
  },
  node_setting: {
    until: SERVICE_END,
    columns: [['name salt hash stored_at', 'kept', 'compares the settings of nodes; PostgreSQL']],
  },
  audit_entry: {
    until: orOwn('the longest `audit` of `BONDED_RETENTION_BOUNDS`, ten years by default', 'audit'),
    columns: [
      ['number at action result reason request_id', 'kept', 'what was done, and when'],
      ['previous content_hash', 'kept', 'prove the order, and entries whose content was deleted'],
      ['actor_kind actor issuer address', 'kept', 'the operator, the credential, or a reference'],
      ['tenant_id target value_before value_after', 'kept', 'on what, without columns of a user'],
      ['person', 'kept', 'a keyed reference, which names no user once its key is deleted'],
    ],
  },
  audit_person_key: {
    until: 'an erasure',
    columns: [
      ['subject_id', 'personal', 'the user'],
      ['key', 'secret', 'finds the audit entries about the user'],
    ],
  },
  used_level: {
    until: SERVICE_END,
    columns: [['number level', 'kept', 'the features that nodes must know']],
  },
  known_setting: {
    until: SERVICE_END,
    columns: [['name version', 'kept', 'the settings that each version knows']],
  },
  migration: {
    until: SERVICE_END,
    columns: [['number name checksum applied_at expands', 'kept', 'the steps of the schema']],
  },
}
