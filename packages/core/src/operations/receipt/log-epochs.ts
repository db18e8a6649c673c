import { encodeBase64url } from '@bonded/contract'
import { iso } from '../../domain/iso.ts'
import { edgeTiles, MerkleTree, MissingTile } from '../../domain/merkle.ts'
import {
  base64,
  checkpointFacts,
  closingText,
  type ClosingReason,
  logOrigin,
  noteSignature,
} from '../../domain/receipt-log.ts'
import { LogRefused } from '../../ports/kept-checkpoint.ts'
import type { Signer } from '../../ports/signer.ts'
import type { Tables } from '../../ports/store.ts'
import type { ClosedLog, LogHead } from '../../ports/tables/receipt-log-table.ts'
import type { Work } from '../../ports/work.ts'
import { readTiles } from './read-tiles.ts'
import type { Service } from '../service.ts'

/** Several rounds of the maintenance, in which every other node has compared the log. */
const NEW_NODE_MS = 5_000

/**
 * Closes the log of receipts as of its latest checkpoint, and begins one of another name. It
 * continues the tree, so that its entries begin with those of the closed log.
 */
export function* beginLog(
  { clock, random }: Service,
  { receiptLog }: Tables,
  reason: ClosingReason,
): Work<LogHead> {
  const { epoch } = yield* receiptLog.head()
  const nextEpoch = encodeBase64url(random.id())
  yield* receiptLog.close({ epoch, nextEpoch, reason, now: clock.now() })
  return yield* receiptLog.head()
}

/**
 * Begins another log if the database server is not the one of the latest append, unless a standby
 * had every append before it was acknowledged. A server that is not a copy of the other one was
 * restored from a dump, or is new.
 */
export function* continueLog(service: Service, tables: Tables, head: LogHead): Work<LogHead> {
  const { receiptLog } = tables
  const { server } = receiptLog
  const isCopy = clusterOf(head.server) === clusterOf(server)
  // Behind a pooler, an older connection can still name the server before the failover.
  if (server === '' || head.server === server || (isCopy && server < head.server)) return head
  if (head.server === '' || (head.isSynchronous && isCopy)) {
    yield* receiptLog.noteServer()
    return head
  }
  return yield* beginLog(service, tables, 'failover')
}

function clusterOf(server: string): string {
  return server.slice(0, server.indexOf('/'))
}

/**
 * Checks that the log continues the checkpoint that this node has kept, and keeps the latest one.
 *
 * @throws {LogRefused} if it does not. No node signs then, until the operator begins another log
 */
export async function checkLog(service: Service, head: LogHead): Promise<void> {
  const { keptCheckpoint, store } = service
  if (head.refused !== '') throw new LogRefused(head.refused)
  if (keptCheckpoint === undefined) return
  const kept = await keptCheckpoint.read()
  if (kept === head.checkpoint) return
  const problem = kept === '' ? undefined : await problemOf(service, head, kept)
  if (problem !== undefined) {
    const { epoch } = await store.write((tables) => refuse(service, tables, { head, problem }))
    if (epoch === head.epoch) throw new LogRefused(problem)
    return
  }
  if (head.checkpoint === '') return
  await keptCheckpoint.store(head.checkpoint)
}

/** Stops every node from signing, unless a failover explains the problem: another log begins. */
function* refuse(
  service: Service,
  tables: Tables,
  { head, problem }: { readonly head: LogHead; readonly problem: string },
): Work<LogHead> {
  const current = yield* continueLog(service, tables, yield* tables.receiptLog.head())
  yield* tables.receiptLog.refuse(head.epoch, problem)
  return current
}

/**
 * Checks again before a signature, by the tree itself.
 *
 * @throws {LogRefused} if the log does not continue the checkpoint that this node has kept
 */
export async function checkBeforeSigning(service: Service, head: LogHead): Promise<void> {
  const kept = (await service.keptCheckpoint?.read()) ?? ''
  const problem = kept === '' ? undefined : await problemOf(service, head, kept)
  if (problem !== undefined) throw new LogRefused(problem)
}

/** A node that has just started lets the others refuse first, because it may know less. */
export function maySign({ keptCheckpoint, clock, startedAt }: Service, head: LogHead): boolean {
  const runsForMs = clock.now() - startedAt
  const isNew = runsForMs >= 0 && runsForMs < NEW_NODE_MS
  return keptCheckpoint === undefined || head.checkpoint === '' || !isNew
}

/** Why the log does not continue a checkpoint; undefined if it does. */
async function problemOf(
  { keys, settings, store }: Service,
  head: LogHead,
  kept: string,
): Promise<string | undefined> {
  const facts = checkpointFacts(kept)
  if (facts === undefined) return 'The checkpoint that this node has kept cannot be read.'
  const first = logOrigin(settings.publicOrigin)
  // A service with another public origin has another log.
  if (facts.origin !== first && !facts.origin.startsWith(`${first}/`)) return undefined
  const { origin, size, root } = facts
  if (origin !== logOrigin(settings.publicOrigin, head.epoch)) {
    const closed = await store.read(({ receiptLog }) => receiptLog.closed())
    if (closed.some(({ epoch }) => logOrigin(settings.publicOrigin, epoch) === origin))
      return undefined
    return `This node has signed the log ${origin}, which the database does not know. The database is older than that log.`
  }
  if (size > head.size)
    return `This node knows ${size} entries of the log, and the database has ${head.size}. The database is older than the log.`
  const tiles = await store.read((tables) => readTiles(tables.receiptLog, edgeTiles(size)))
  try {
    const found = base64(new MerkleTree(keys.sha256Bytes, size, tiles).root(size))
    if (found === root) return undefined
  } catch (failure) {
    if (!(failure instanceof MissingTile)) throw failure
    return `The database lacks the entries before ${size}, so this node cannot verify that the log continues them.`
  }
  return `The first ${size} entries of the log are not those that this node knows.`
}

/** Signs what the log says about the closed ones before it. */
export async function signStatements(service: Service, signer: Signer): Promise<void> {
  const { keys, settings, store } = service
  const closed = await store.read(({ receiptLog }) => receiptLog.closed())
  for (const log of closed.filter(({ statement }) => statement === '')) {
    const origin = logOrigin(settings.publicOrigin, log.nextEpoch)
    const text = closingText({
      origin,
      closed: logOrigin(settings.publicOrigin, log.epoch),
      size: log.checkpointSize,
      root: checkpointFacts(log.checkpoint)?.root ?? base64(keys.sha256Bytes()),
      at: iso(log.closedAt),
      reason: log.reason,
    })
    const signature = await signer.sign(new TextEncoder().encode(text))
    const line = noteSignature(keys.sha256Bytes, { origin, key: signer.publicKeys[0], signature })
    const statement = `${text}\n${line}`
    await store.write(({ receiptLog }) => receiptLog.storeStatement(log.epoch, statement))
  }
}

/** The closed logs, as the service publishes them. */
export interface PublishedClosing {
  readonly origin: string
  readonly continued_by: string
  readonly entries: number
  readonly closed_at: string
  readonly reason: ClosingReason
  /** The latest checkpoint of the closed log, with its cosignatures. */
  readonly checkpoint: string
  readonly statement: string
}

export async function publishedClosings({
  settings,
  store,
}: Service): Promise<readonly PublishedClosing[]> {
  const closed = await store.read(({ receiptLog }) => receiptLog.closed())
  return closed
    .filter(({ statement }) => statement !== '')
    .map((log) => ({
      origin: logOrigin(settings.publicOrigin, log.epoch),
      continued_by: logOrigin(settings.publicOrigin, log.nextEpoch),
      entries: log.checkpointSize,
      closed_at: iso(log.closedAt),
      reason: log.reason,
      checkpoint: isCosigned(log) ? log.cosigned : log.checkpoint,
      statement: log.statement,
    }))
}

function isCosigned({ checkpointSize, cosignedSize, cosigned }: ClosedLog): boolean {
  return cosigned !== '' && cosignedSize === checkpointSize
}
