import { COSIGN_REFRESH_MS, COSIGN_ROUND_MS, LOG_DELAY_SECONDS } from '../../domain/receipt-log.ts'
import type { LogHead } from '../../ports/tables/receipt-log-table.ts'
import { type Witness, type WitnessAnswer, WitnessError } from '../../ports/witness.ts'
import type { Batch } from '../maintenance/batch.ts'
import { consistencyOf } from './receipt-log.ts'
import type { Service } from '../service.ts'

/**
 * Asks all witnesses at once to cosign the latest checkpoint, and stores it with the cosignatures.
 * Nothing waits for them: until then, proofs of new entries have the checkpoint of the log alone.
 *
 * @throws {WitnessError} if there are witnesses, and none has cosigned
 */
export async function cosignCheckpoint(service: Service): Promise<Batch> {
  const { store, clock, witnesses = [] } = service
  const idle = { done: 0, more: false }
  const head = await store.read(({ receiptLog }) => receiptLog.head())
  const now = clock.now()
  if (witnesses.length === 0 || !needsWitnesses(head, now)) return idle
  const claim = { now, until: now + COSIGN_ROUND_MS }
  if (!(await store.write((tables) => tables.receiptLog.claimWitnesses(claim)))) return idle
  const asked = witnesses.map(async (witness) => ({
    name: witness.name,
    answer: await ask(service, witness, head),
  }))
  const answers = await Promise.all(asked)
  if (service.shutdown.endOfWaiting.aborted) return idle
  const lines = answers.flatMap(({ answer }) => ('line' in answer ? [answer.line] : []))
  if (lines.length === 0) throw new WitnessError(answers.map(problemOf).join('; '))
  const cosigned = `${head.checkpoint}${lines.join('')}`
  const of = { epoch: head.epoch, size: head.checkpointSize, now: clock.now() }
  await store.write((tables) => tables.receiptLog.storeCosigned(cosigned, of))
  const silent = answers.filter(({ answer }) => !('line' in answer)).map(problemOf)
  const failures = silent.length === 0 ? [] : [new WitnessError(silent.join('; '))]
  return { done: lines.length, more: false, failures }
}

/** A checkpoint that did not change is cosigned again, which shows that it is still the latest. */
function needsWitnesses(head: LogHead, now: number): boolean {
  const isNew = head.checkpointSize > head.cosignedSize
  const isOld = now - head.cosignedAt >= COSIGN_REFRESH_MS
  return head.checkpoint !== '' && head.witnessDueAt <= now && (isNew || isOld)
}

/**
 * A witness in the latest cosigned checkpoint has its size. Any other witness says which size it
 * has, and is asked once more with the proof from there.
 */
async function ask(service: Service, witness: Witness, head: LogHead): Promise<WitnessAnswer> {
  const knowsCosigned = head.cosigned.split('\n').some((line) => witness.isLine(line))
  const first = await askFrom(service, witness, {
    head,
    old: knowsCosigned ? head.cosignedSize : 0,
  })
  return 'size' in first ? askFrom(service, witness, { head, old: first.size }) : first
}

async function askFrom(
  service: Service,
  witness: Witness,
  { head, old }: { readonly head: LogHead; readonly old: number },
): Promise<WitnessAnswer> {
  const { checkpoint, checkpointSize: to } = head
  const problem = `it has cosigned ${old} entries, but the log has ${to}. Its database is older than the log, or another service has the same public origin`
  if (old > to) return { problem }
  const proof = await consistencyOf(service, { from: old, to })
  if (proof === undefined) return { problem: `there is no proof from ${old} to ${to} entries` }
  return witness.cosign({ checkpoint, old, proof }, service.shutdown.endOfWaiting)
}

function problemOf(of: { readonly name: string; readonly answer: WitnessAnswer }): string {
  const { name, answer } = of
  if ('problem' in answer) return `${name}: ${answer.problem}`
  return `${name}: it names another size each time`
}

/** The checkpoint to publish: with cosignatures, unless they are missing for too long. */
export function publishedCheckpoint(head: LogHead, now: number): string {
  const isRecent = now - head.cosignedAt < LOG_DELAY_SECONDS * 1_000
  const isLatest = head.cosignedSize === head.checkpointSize
  return head.cosigned !== '' && (isRecent || isLatest) ? head.cosigned : head.checkpoint
}
