import { against, CORE, INTEGRATOR, SERVER, STORE } from './against.ts'
import type { Mutant } from './mutant.ts'

const RECEIPT = `${INTEGRATOR}/tests/receipt.test.ts`
const RECEIPTS = `${SERVER}/tests/api/receipts.test.ts`
const LOG = `${SERVER}/tests/api/receipt-log.test.ts`
const COSIGNED = `${SERVER}/tests/api/cosign-checkpoint.test.ts`
const EPOCHS = `${SERVER}/tests/api/log-epochs.test.ts`
const LOG_EPOCHS = `${CORE}/src/operations/receipt/log-epochs.ts`
const MERKLE = `${CORE}/tests/domain/merkle.test.ts`
const VERIFY_RECEIPT = `${INTEGRATOR}/src/receipt/verify-receipt.ts`
const VERIFY_LOG = `${INTEGRATOR}/src/receipt/verify-log.ts`
const CHECKPOINT = `${INTEGRATOR}/src/receipt/checkpoint.ts`
const PROOFS = `${INTEGRATOR}/src/receipt/merkle.ts`
const WITNESSES = `${INTEGRATOR}/src/receipt/witnesses.ts`
const LOG_TABLE = `${STORE}/src/tables/receipt-log-table.ts`

/** Mutants that accept a receipt or a log which the service or the phone did not make. */
const FORGED = against('forged', [
  [
    'the signature of a receipt is not verified',
    VERIFY_RECEIPT,
    "if (!(await crypto.subtle.verify('Ed25519', key, bytes, signed)))",
    'if (bytes.length + signed.length + key.usages.length === 0)',
    RECEIPT,
  ],
  [
    'another statement of the service counts as a receipt',
    VERIFY_RECEIPT,
    "|| head?.alg !== 'EdDSA' || head.typ !== RECEIPT_TYPE",
    "|| head?.alg !== 'EdDSA' || head.typ === undefined",
    RECEIPT,
    'rejects a header of another kind',
  ],
  [
    'a receipt of another service is accepted',
    VERIFY_RECEIPT,
    "if (issuer !== undefined && claims.iss !== issuer) return reject('issuer_mismatch')",
    '',
    RECEIPT,
  ],
  [
    'the signature of the phone in a receipt is not verified',
    VERIFY_RECEIPT,
    "if (!(await isSignedByPhone(claims.phone, claims.iss))) return reject('phone_signature_mismatch')",
    '',
    RECEIPT,
  ],
  [
    'the phone signed for another session than the receipt says',
    VERIFY_RECEIPT,
    'const isCanonical = isSame &&',
    'const isCanonical = payload !== undefined &&',
    RECEIPT,
  ],
  [
    'the receipt shows another context than the phone showed',
    VERIFY_RECEIPT,
    "return payload?.context === shown ? undefined : 'context_mismatch'",
    "return payload?.context !== shown && shown === '' ? 'context_mismatch' : undefined",
    RECEIPT,
  ],
  [
    'a proof of inclusion need not lead to the root',
    VERIFY_LOG,
    'root !== undefined && same(root, checkpoint.root)',
    'root !== undefined && same(root, root)',
    LOG,
  ],
  [
    'the checkpoint of another log proves a receipt',
    VERIFY_LOG,
    "if (serviceLog(checkpoint.origin) !== serviceLog(origin)) return reject('log_mismatch')",
    '',
    LOG,
    'a checkpoint of another log proves nothing',
  ],
  [
    'two checkpoints of different logs are compared',
    VERIFY_LOG,
    "if (path === undefined) return reject('log_mismatch')",
    "if (path === undefined) return { decision: 'accept', checkpoint: newer }",
    LOG,
    'a checkpoint of another log proves nothing',
  ],
  [
    'a proof of consistency need not lead to the older root',
    PROOFS,
    'last === 0 && same(before, older.root) && same(after, newer.root)',
    'last === 0 && same(before, before) && same(after, newer.root)',
    MERKLE,
  ],
  [
    'two logs of the same size are one log',
    PROOFS,
    'return proof.length === 0 && same(older.root, newer.root)',
    'return proof.length === 0',
    MERKLE,
  ],
  [
    'a checkpoint counts under any key id',
    CHECKPOINT,
    'if (!same(keyId, signature.subarray(0, KEY_ID_BYTES))) continue',
    'if (keyId.length !== KEY_ID_BYTES) continue',
    LOG,
  ],
  [
    'the signature of a checkpoint is not verified',
    CHECKPOINT,
    "return crypto.subtle.verify('Ed25519', key, signature.subarray(KEY_ID_BYTES), bytes)",
    'return key.usages.length + bytes.length > 0',
    LOG,
  ],
  [
    'a cosignature is not verified',
    WITNESSES,
    "return crypto.subtle.verify('Ed25519', key, bytes.subarray(SIGNATURE_AT), message)",
    'return key.usages.length + message.length > 0',
    COSIGNED,
  ],
  [
    'the cosignatures of one key count twice',
    WITNESSES,
    ' && keys.size === witnesses.length',
    '',
    COSIGNED,
  ],
  [
    'a receipt without cosignatures is accepted',
    WITNESSES,
    'return cosigners.length >= required',
    'return cosigners.length <= required',
    COSIGNED,
  ],
  [
    'the service publishes a cosignature that does not verify',
    `${SERVER}/src/adapters/witness/witness-client.ts`,
    'if (time > MAX_TIME || !isSigned)',
    'if (time > MAX_TIME && !isSigned)',
    COSIGNED,
  ],
  [
    'the service stores what another key has signed',
    `${SERVER}/src/adapters/signer/command-signer.ts`,
    '&& verify(null, bytes, publicKey, signature)',
    '&& verify.length > 0 && publicKey.type.length > 0',
    `${SERVER}/tests/adapters/signer/receipt-signer.test.ts`,
  ],
  [
    'a phone dates its approval back',
    `${CORE}/src/protocol/checks.ts`,
    'issuedAt >= now - ISSUED_AT_MAX_AGE_MS',
    'issuedAt >= 0 * ISSUED_AT_MAX_AGE_MS',
    `${SERVER}/tests/api/attest.test.ts`,
  ],
])

/** Mutants that give a place of a log to two receipts, or hide the loss of one. */
const FORKED = against('forged', [
  [
    'a node signs a log that does not continue what it knows',
    LOG_EPOCHS,
    'if (size > head.size)',
    'if (size < 0 * head.size)',
    EPOCHS,
    'no node signs a log that a restore has rewound',
  ],
  [
    'a node signs other entries than those that it knows',
    LOG_EPOCHS,
    'if (found === root) return undefined',
    'if (found.length === root.length) return undefined',
    EPOCHS,
    'entries that were changed in the database',
  ],
  [
    'a node that knows less signs while another one refuses',
    LOG_EPOCHS,
    "if (head.refused !== '') throw new LogRefused(head.refused)",
    '',
    EPOCHS,
    'no node signs a log that a restore has rewound',
  ],
  [
    'a node signs under the name of a log from before the one that it knows',
    LOG_EPOCHS,
    'if (closed.some(({ epoch })',
    'if (!closed.some(({ epoch })',
    EPOCHS,
    'an older backup that is put back',
  ],
  [
    'a checkpoint with lost entries is accepted',
    VERIFY_LOG,
    'entries < older.size',
    'entries < 0 * older.size',
    EPOCHS,
    'no node signs a log that a restore has rewound',
  ],
])

/** Mutants that show a receipt or its content to others. */
const LEAKED: readonly Mutant[] = [
  ...against('cross-tenant', [
    [
      'a receipt for another tenant is accepted',
      VERIFY_RECEIPT,
      "if (tenantId !== undefined && claims.aud !== tenantId) return reject('tenant_mismatch')",
      '',
      RECEIPT,
    ],
    [
      'another tenant reads a receipt',
      `${CORE}/src/operations/receipt/read-receipt.ts`,
      'receipt && isVisible(receipt, key) ? receipt : undefined',
      'receipt && isVisible.length > 0 ? receipt : undefined',
      RECEIPTS,
      'another tenant and a key of another scope read no receipt',
    ],
  ]),
  ...against('relayed', [
    [
      'a receipt of another browser is returned',
      `${CORE}/src/operations/receipt/read-receipt.ts`,
      'if (commitment != null && !opensCommitment',
      "if (commitment === '' && !opensCommitment",
      RECEIPTS,
      'a workflow that requires the browser gives its receipt',
    ],
  ]),
  ...against('leaked', [
    [
      'the entry of a receipt can be guessed from its content',
      `${CORE}/src/operations/receipt/make-receipts.ts`,
      'id: encodeBase64url(random.id())',
      'id: encodeBase64url(new Uint8Array(random.id().length))',
      RECEIPTS,
    ],
    [
      'a receipt outlives its retention',
      `${CORE}/src/operations/maintenance/purge-sessions.ts`,
      "due('receipts', receiptRetentionMs)",
      "due('receipts', 2 * receiptRetentionMs)",
      RECEIPTS,
    ],
    [
      'the purge deletes a receipt that the log does not have',
      `${STORE}/src/tables/due-rows.ts`,
      ", only: 'log_index is not null'",
      '',
      LOG,
      'the purge keeps a receipt until the log has it',
    ],
    [
      'an entry of the log outlives its retention',
      `${CORE}/src/operations/maintenance/purge-sessions.ts`,
      'receiptLog.prune(due.now - logRetentionMs,',
      'receiptLog.prune(due.now - 2 * logRetentionMs,',
      LOG,
      'the log has an entry until its retention ends',
    ],
    [
      'the log publishes entries that no checkpoint covers',
      `${SERVER}/src/http/pages/receipt-log.ts`,
      'return covered < wanted ? undefined :',
      'return covered < 0 * wanted ? undefined :',
      LOG,
      'a signer that fails after the append',
    ],
  ]),
]

/** Mutants in which two nodes make two logs. */
const RACED = against('raced', [
  [
    'of two appends at once both succeed',
    LOG_TABLE,
    'where number = 1 and size = $1',
    'where number = 1 and $1 = $1',
    LOG,
    'of two changes of the log from one size',
  ],
  [
    'an older checkpoint replaces a newer one',
    LOG_TABLE,
    'where number = 1 and checkpoint_size < $2',
    'where number = 1 and checkpoint_size <> $2',
    LOG,
    'of two changes of the log from one size',
  ],
  [
    'a smaller cosigned checkpoint replaces a larger one',
    LOG_TABLE,
    'where number = 1 and cosigned_size <= $2',
    'where number = 1 and $2 = $2',
    COSIGNED,
  ],
  [
    'all nodes ask the witnesses',
    LOG_TABLE,
    'where number = 1 and witness_due_at <= $1',
    'where number = 1 and $1 = $1',
    COSIGNED,
  ],
])

export const RECEIPT_MUTANTS: readonly Mutant[] = [...FORGED, ...FORKED, ...LEAKED, ...RACED]
