import type { Receipt } from '@bonded/contract'
import { base64, checkpointFacts, COSIGN_ROUND_MS } from '@bonded/core/domain/receipt-log'
import {
  cosignCheckpoint,
  publishedCheckpoint,
} from '@bonded/core/operations/receipt/cosign-checkpoint'
import { publishedClosings } from '@bonded/core/operations/receipt/log-epochs'
import { makeReceipts } from '@bonded/core/operations/receipt/make-receipts'
import { appendReceipts, consistencyOf } from '@bonded/core/operations/receipt/receipt-log'
import { LogRefused } from '@bonded/core/ports/kept-checkpoint'
import { WitnessError } from '@bonded/core/ports/witness'
import { verifyConsistency, verifyReceipt } from '@bonded/integrator'
import { verifyWitnessedReceipt } from '@bonded/integrator/witnesses'
import { type GameService, SERVICE_ORIGIN, TENANT } from './service.ts'

/**
 * Lets the service make what receipts are due, log them, and ask the witness.
 *
 * @returns what it reports to its operator
 */
export async function logReceipts(game: GameService): Promise<readonly string[]> {
  game.wait(COSIGN_ROUND_MS)
  const problems: string[] = []
  for (const round of [makeReceipts, appendReceipts, cosignCheckpoint])
    try {
      await round(game.service)
    } catch (failure) {
      if (!(failure instanceof LogRefused || failure instanceof WitnessError)) throw failure
      problems.push(failure.message)
    }
  return problems
}

/** The checkpoint that the service publishes. */
export async function publishedLog({ service }: GameService): Promise<string> {
  const head = await service.store.read(({ receiptLog }) => receiptLog.head())
  return publishedCheckpoint(head, service.clock.now())
}

/**
 * Verifies a receipt as an auditor does who has stored a checkpoint: its proof must have the
 * cosignature of the witness, and its log must begin with the stored one.
 */
export async function auditWithWitness(
  game: GameService,
  { receipt, proof }: Receipt,
  stored: string,
): Promise<string> {
  const { service, receipts } = game
  const { jwks, witness } = receipts
  const witnesses = [witness.verifierKey]
  const given = { receipt, proof: proof ?? '', witnesses, ...known(jwks) }
  const verdict = await verifyWitnessedReceipt(given)
  if (verdict.decision === 'reject') return verdict.reason
  const newer = await publishedLog(game)
  const [from, to] = [stored, newer].map((note) => checkpointFacts(note)?.size ?? 0)
  const path = (await consistencyOf(service, { from: from ?? 0, to: to ?? 0 })) ?? []
  const continued = await verifyConsistency({
    older: stored,
    newer,
    proof: path.map(base64).join('\n'),
    closed: JSON.stringify({ closed: await publishedClosings(service) }),
    jwks,
  })
  return continued.decision === 'reject' ? continued.reason : 'accept'
}

/** Verifies a receipt as an auditor does who knows no witness, and has stored no checkpoint. */
export async function auditAlone(
  { receipts }: GameService,
  { receipt, proof }: Receipt,
): Promise<string> {
  const verdict = await verifyReceipt({ receipt, proof: proof ?? '', ...known(receipts.jwks) })
  return verdict.decision === 'reject' ? verdict.reason : 'accept'
}

function known(jwks: GameService['receipts']['jwks']) {
  return { jwks, issuer: SERVICE_ORIGIN, tenantId: TENANT.id }
}
