import { against, CLI, CORE, SERVER, STORE } from './against.ts'
import type { Mutant } from './mutant.ts'

const ENTRIES = `${SERVER}/tests/api/audit.test.ts`
const VERIFY = `${SERVER}/tests/api/verify-audit.test.ts`
const SENDER = `${SERVER}/tests/audit-sender.test.ts`
const EDITS = 'finds each edited column'

/** Mutants of the audit log: an action without a trace, one that says too much, a false one. */
export const AUDIT_MUTANTS: readonly Mutant[] = [
  ...against('leaked', [
    [
      'an audit entry has the secrets of an endpoint',
      `${CORE}/src/operations/audit/audited-values.ts`,
      "  'loggedCharacters',\n",
      "  'loggedCharacters',\n  'sealedSecrets' as never,\n",
      ENTRIES,
      'an entry shows these members of a row',
    ],
    [
      'an audit entry has the context of a session',
      `${CORE}/src/operations/audit/audited-values.ts`,
      "['state', 'endedReason']",
      "['state', 'endedReason', 'context']",
      ENTRIES,
      'an entry shows these members of a row',
    ],
    [
      'an audit entry names the phone by its id',
      `${CORE}/src/operations/audit/audit.ts`,
      'device: refer.to(deviceId)',
      'device: deviceId',
      ENTRIES,
      'names a user by a keyed reference only',
    ],
    [
      'the reference of a user outlives its key',
      `${STORE}/src/tables/subject-data-table.ts`,
      'for (const table of ofSubject(scope)) {',
      "for (const table of ofSubject(scope).filter((each) => each !== 'audit_person_key')) {",
      ENTRIES,
      'names a user by a keyed reference only',
    ],
  ]),
  ...against('unrecorded', [
    [
      'a change is stored before its audit entry, in a transaction of its own',
      `${CORE}/src/operations/audit/audit.ts`,
      'new StoreView(service.store, async (inner, unit) => {',
      `new StoreView(service.store, async (inner, whole) => {
    const done = await inner.write((tables) => whole({ ...tables, *concerns() {} }))
    const unit = function* () { return done } as never as typeof whole`,
      ENTRIES,
      'does nothing that the audit log cannot record',
    ],
    [
      'a call of a tenant that changes its configuration leaves no audit entry',
      `${SERVER}/src/http/audited-endpoints.ts`,
      "  blockSubject: 'changes'",
      "  blockSubject: 'neither'",
      ENTRIES,
      'names a user by a keyed reference only',
    ],
    [
      'a command reads data of a user without an audit entry',
      `${CLI}/src/program/open.ts`,
      "if (auditClass === 'reads_person') await recordAction(service, action)",
      "if (auditClass === 'changes') await recordAction(service, action)",
      'packages/service/tests/audited-commands.test.ts',
      'records a rejected command with its code, and a read',
    ],
    [
      'a command reads data of a user although its audit class is neither',
      `${CORE}/src/operations/audit/audit.ts`,
      "auditClass === 'neither' ? personal : {}",
      '{}',
      ENTRIES,
      'lets only an action that is declared to read data',
    ],
    [
      'the audit log is sent on although the endpoint has rejected it',
      `${CORE}/src/operations/audit/send-audit.ts`,
      'isAccepted ? position : auditPosition',
      'position',
      SENDER,
      'repeats what the endpoint has not accepted',
    ],
  ]),
  ...against('raced', [
    [
      'the late result of a node that lost its lease moves the position of another one',
      `${STORE}/src/tables/webhook-table.ts`,
      'where id = $1 and leased_until = $3`',
      'where id = $1 and $3 = $3`',
      SENDER,
      'a node that died after its call',
    ],
  ]),
  ...against('forged', [
    [
      'the log has no hashes of audit entries',
      `${CORE}/src/operations/receipt/receipt-log.ts`,
      '[auditLeaf(keys.sha256Bytes, last), auditMarker(auditSize)]',
      '[new Uint8Array(32), auditMarker(auditSize)]',
      VERIFY,
      EDITS,
    ],
    [
      'the hash of an audit entry leaves out who acted',
      `${CORE}/src/domain/audit.ts`,
      'canonicalJson(Object.fromEntries(content))',
      "canonicalJson({ ...Object.fromEntries(content), actor: '' })",
      VERIFY,
      EDITS,
    ],
    [
      'an audit entry does not have the hash of the one before',
      `${CORE}/src/operations/audit/audit.ts`,
      "previous: last === undefined ? '' : hex(auditLeaf(keys.sha256Bytes, last))",
      "previous: last === undefined ? '' : ''",
      VERIFY,
      'without receipt keys',
    ],
    [
      'a checkpoint that was stored outside is not compared',
      `${CORE}/src/operations/admin/verify-audit.ts`,
      "else return rootOf(outside, 'the given checkpoint')",
      'else return []',
      VERIFY,
      'finds a log that was cut together with its entries',
    ],
  ]),
]
