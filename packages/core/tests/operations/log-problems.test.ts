import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { type AuditEntry, auditLeaf, hex } from '../../src/domain/audit.ts'
import { verifyAudit } from '../../src/operations/admin/verify-audit.ts'
import {
  cosignCheckpoint,
  publishedCheckpoint,
} from '../../src/operations/receipt/cosign-checkpoint.ts'
import { checkLog, maySign } from '../../src/operations/receipt/log-epochs.ts'
import type { LogHead } from '../../src/ports/tables/receipt-log-table.ts'
import { CREATED_AT as NOW } from '../records.ts'
import { outcomeOf, serviceOver } from './stub-service.ts'

/*
 * What is wrong with the log of receipts, or with the audit log, in the words that an operator or a
 * log file has. They decide whether an operator restores, waits, or tells the tenants.
 */
const DAY = 24 * 60 * 60_000
const sha256 = (...parts: readonly Uint8Array[]) =>
  new Uint8Array(hash('sha256', Buffer.concat(parts), 'buffer'))
const ORIGIN = 'bond.example/receipts/log'

/** The head of an empty log, and then with these members. */
function headWith(members: Partial<LogHead> = {}): LogHead {
  const empty = {
    epoch: '',
    size: 0,
    auditSize: 0,
    checkpoint: '',
    checkpointSize: 0,
    cosigned: '',
    cosignedSize: 0,
    cosignedAt: 0,
    witnessDueAt: 0,
    refused: '',
    server: '',
    isSynchronous: false,
    begunAt: 0,
  }
  return { ...empty, ...members }
}

/** Entries that continue each other, each with these members. */
function chain(...all: Partial<AuditEntry>[]): AuditEntry[] {
  const entries: AuditEntry[] = []
  for (const members of all) {
    const last = entries.at(-1)
    const entry = {
      number: (last?.number ?? 0) + 1,
      at: NOW,
      action: 'a',
      tenantId: null,
      previous: last === undefined ? '' : hex(auditLeaf(sha256, last)),
      contentHash: null,
      ...members,
    }
    entries.push(entry as AuditEntry)
  }
  return entries
}

async function problemsOf(of: {
  head?: Partial<LogHead>
  entries?: readonly AuditEntry[]
  outside?: string
  closed?: readonly object[]
}) {
  const { entries = [], closed = [] } = of
  const service = serviceOver(
    {
      receiptLog: { head: () => headWith(of.head), closed: () => closed, tile: () => undefined },
      audit: {
        list: ({ after, limit }: { after: number; limit: number }) =>
          entries.filter(({ number }) => number > after).slice(0, limit),
      },
    },
    { keys: { sha256Bytes: sha256 } },
  )
  return verifyAudit(service, of.outside)
}

test('an audit log whose entries continue each other has no problem', async () => {
  const old = NOW - 365 * DAY
  assert.deepEqual(await problemsOf({ entries: chain({ at: old, contentHash: 'aa' }, {}, {}) }), {
    entries: 3,
    purged: 1,
    logged: 0,
    log: undefined,
    problems: [],
  })
  // The first entries are deleted once their retention has ended, and no other ones.
  const [, , third, fourth] = chain({}, {}, { at: old, contentHash: 'aa' }, {})
  const purged = await problemsOf({ entries: [third, fourth] as AuditEntry[] })
  assert.deepEqual([purged.problems, purged.entries, purged.purged], [[], 4, 3])
})

test('each problem of the audit log names its entries', async () => {
  const entries = chain({}, {}, {}, {}, {})
  const without = (...numbers: number[]) =>
    problemsOf({ entries: entries.filter(({ number }) => !numbers.includes(number)) })
  assert.deepEqual((await without(1)).problems, ['Entry 1 is missing.'])
  assert.deepEqual((await without(2, 3)).problems, ['Entries 2 to 3 are missing.'])
  const changed = entries.map((entry) => (entry.number === 2 ? { ...entry, action: 'b' } : entry))
  assert.deepEqual((await problemsOf({ entries: changed })).problems, [
    'Entry 3 does not continue entry 2.',
  ])
  const emptied = chain({}, { contentHash: 'aa', at: NOW - 365 * DAY + 1 })
  assert.deepEqual((await problemsOf({ entries: emptied })).problems, [
    'Entry 2 has lost its content before its retention ended.',
  ])
  assert.deepEqual((await problemsOf({ head: { auditSize: 4 } })).problems, [
    'The log of receipts states 0 audit entries, and the database 4.',
  ])
  const lacking = await problemsOf({ head: { size: 3 } })
  assert.deepEqual(lacking.problems, ['The log of receipts lacks its leaves from 0 on.'])
  assert.deepEqual(lacking.log, { origin: ORIGIN, size: 3 })
})

test('a checkpoint from outside is compared with the log that it names', async () => {
  const outside = (origin: string, size: number, of: Parameters<typeof problemsOf>[0] = {}) =>
    problemsOf({ ...of, outside: `${origin}\n${size}\ncm9vdA==\n` })
  const closed = [{ epoch: '', checkpointSize: 5, reason: 'failover' }]
  const head = { epoch: 'e2' }
  for (const [report, problem] of [
    [await problemsOf({ outside: 'no checkpoint' }), 'The given file is not a checkpoint.'],
    [
      await outside('bank.example/receipts/log', 1),
      'The given checkpoint is of bank.example/receipts/log, which is not a log of this database.',
    ],
    [
      await outside(ORIGIN, 7),
      'The given checkpoint has 7 leaves, and the log of receipts 0: its end is missing.',
    ],
    [
      await outside(ORIGIN, 6, { head, closed }),
      'The given checkpoint has 6 leaves. The service closed that log with 5 (failover), and has lost the others, with the audit entries among them.',
    ],
    [
      await outside(ORIGIN, 5, { head, closed }),
      'The given checkpoint has 5 leaves, and the log of receipts 0: its end is missing.',
    ],
    [
      await outside(ORIGIN, 1, { head }),
      `The given checkpoint is of ${ORIGIN}, which is not a log of this database.`,
    ],
  ] as const)
    assert.deepEqual(report.problems, [problem])
})

test('a node that knows another log than the database stops every node, and says why', async () => {
  const refusals: unknown[] = []
  const check = async (kept: string, head: Partial<LogHead> = {}, closed: object[] = []) => {
    const stored: string[] = []
    const service = serviceOver(
      {
        receiptLog: {
          head: () => headWith(head),
          closed: () => closed,
          tile: () => undefined,
          refuse: (epoch: string, problem: string) => void refusals.push([epoch, problem]),
          server: '',
        },
      },
      {
        keys: { sha256Bytes: sha256 },
        keptCheckpoint: {
          read: async () => kept,
          store: async (text: string) => stored.push(text),
        },
      },
    )
    try {
      await checkLog(service, headWith(head))
      return stored
    } catch (failure) {
      return (failure as Error).message
    }
  }
  const own = (size: number, root = 'cm9vdA==') => `${ORIGIN}\n${size}\n${root}\n`
  const empty = Buffer.from(sha256()).toString('base64')
  const begun = { epoch: 'e1', checkpoint: 'text' }
  assert.match(
    String(await check('', { refused: 'It was refused before.' })),
    /It was refused before\.$/,
  )
  assert.deepEqual(await check('text', { checkpoint: 'text' }), [])
  assert.deepEqual(await check('', { checkpoint: 'text' }), ['text'])
  assert.deepEqual(await check('other.example/log\n9\ncm9vdA==\n', { checkpoint: 'text' }), [
    'text',
  ])
  assert.deepEqual(await check(own(0, empty), { checkpoint: 'text' }), ['text'])
  assert.deepEqual(await check(own(9), begun, [{ epoch: '' }]), ['text'])
  const cases = [
    ['broken', {}, 'The checkpoint that this node has kept cannot be read.'],
    [
      own(9),
      begun,
      `This node has signed the log ${ORIGIN}, which the database does not know. The database is older than that log.`,
    ],
    [
      own(9),
      { size: 8 },
      'This node knows 9 entries of the log, and the database has 8. The database is older than the log.',
    ],
    [
      own(9),
      { size: 9 },
      'The database lacks the entries before 9, so this node cannot verify that the log continues them.',
    ],
    [own(0), {}, 'The first 0 entries of the log are not those that this node knows.'],
  ] as const
  for (const [kept, head, problem] of cases) {
    const message = String(await check(kept, head))
    assert.ok(message.endsWith(problem), message)
    assert.deepEqual(refusals.pop(), ['epoch' in head ? 'e1' : '', problem])
  }
})

test('a node that has just started does not sign for five seconds', () => {
  const may = (runsForMs: number, parts: object = { keptCheckpoint: {} }, checkpoint = 'text') =>
    maySign(serviceOver({}, { startedAt: NOW - runsForMs, ...parts }), headWith({ checkpoint }))
  assert.deepEqual([may(0), may(4_999), may(5_000), may(-1)], [false, false, true, true])
  assert.deepEqual([may(0, {}), may(0, { keptCheckpoint: {} }, '')], [true, true])
})

test('the witnesses that do not cosign are named, each with its problem', async () => {
  const head = headWith({ checkpoint: 'text\n', checkpointSize: 8, size: 8, cosigned: '' })
  const asked: [string, number][] = []
  const witness = (name: string, ...answers: object[]) => ({
    name,
    isLine: () => false,
    cosign: async ({ old }: { old: number }) => {
      asked.push([name, old])
      return answers[asked.filter(([other]) => other === name).length - 1]
    },
  })
  const cosign = async (...witnesses: object[]) => {
    const stored: unknown[] = []
    const service = serviceOver(
      {
        receiptLog: {
          head: () => head,
          claimWitnesses: ({ now, until }: { now: number; until: number }) =>
            now === NOW && until === NOW + 10_000,
          storeCosigned: (...given: unknown[]) => void stored.push(given),
          tile: () => undefined,
        },
      },
      {
        witnesses,
        keys: { sha256Bytes: sha256 },
        shutdown: { endOfWaiting: new AbortController().signal },
      },
    )
    const batch = await outcomeOf(() => cosignCheckpoint(service)).catch(
      (failure: unknown) => (failure as Error).message,
    )
    return { batch: batch as { done: number; failures: Error[] }, stored }
  }
  const good = await cosign(
    witness('a', { line: '— a\n' }),
    witness('b', { problem: 'it is down' }),
  )
  assert.deepEqual(good.stored, [['text\n— a\n', { epoch: '', size: 8, now: NOW }]])
  assert.deepEqual(
    [good.batch.done, good.batch.failures.map(({ message }) => message)],
    [1, ['b: it is down']],
  )
  const bad = await cosign(
    witness('c', { size: 9 }),
    witness('d', { size: 8 }, { size: 8 }),
    witness('e', { size: 5 }),
  )
  assert.ok(
    String(bad.batch).endsWith(
      'c: it has cosigned 9 entries, but the log has 8. Its database is older than the log, or another service has the same public origin; d: it names another size each time; e: there is no proof from 5 to 8 entries',
    ),
    String(bad.batch),
  )
  assert.deepEqual(bad.stored, [])
  assert.deepEqual(asked, [
    ['a', 0],
    ['b', 0],
    ['c', 0],
    ['d', 0],
    ['e', 0],
    ['d', 8],
  ])
})

test('a checkpoint is published with its cosignatures, unless they lack for a minute', () => {
  const published = (members: Partial<LogHead>) =>
    publishedCheckpoint(
      headWith({
        checkpoint: 'new',
        checkpointSize: 8,
        cosigned: 'old',
        cosignedSize: 7,
        ...members,
      }),
      NOW,
    )
  assert.deepEqual(
    [
      published({ cosignedAt: NOW - 59_999 }),
      published({ cosignedAt: NOW - 60_000 }),
      published({ cosignedAt: NOW - 60_000, cosignedSize: 8 }),
      published({ cosignedAt: NOW, cosigned: '' }),
    ],
    ['old', 'new', 'old', 'new'],
  )
})
