import { escapeHiddenJson } from '@bonded/contract'
import type { AuditEntry } from '../../domain/audit.ts'
import { ocsfEvent } from '../../domain/audit-ocsf.ts'
import {
  type AttemptResult,
  isGone,
  judgeEndpoint,
  LEASE_MS,
  succeeded,
} from '../../domain/webhooks.ts'
import type { WebhookEndpoint } from '../../ports/tables/webhook-table.ts'
import { liveSecrets } from '../webhook/send-webhooks.ts'
import type { Service } from '../service.ts'
import { resultOf } from '../webhook/webhook-lane.ts'

/** How many entries a call has at most. */
const BATCH = 500
/** How many characters they have, unless one entry has more. Collectors commonly accept 1 MB. */
const MAX_LENGTH = 500_000
/** The pause after a failure. The breaker makes it longer. */
const PAUSE_MS = 5_000

/**
 * Sends the next audit entries to an endpoint of the operator, unless another node does. The
 * endpoint has each entry at least once, in their order: its position moves once it has accepted
 * them. A process that dies loses nothing, because its lease ends.
 */
export async function sendAudit(
  service: Service,
  { id }: WebhookEndpoint,
  { signal, version }: { readonly signal: AbortSignal; readonly version: string },
): Promise<void> {
  const { clock, meter, store, webhooks } = service
  const now = clock.now()
  const held = now + LEASE_MS
  const due = await store.write(function* (tables) {
    const endpoint = yield* tables.webhooks.lease(id, { now, held: 0, leasedUntil: held })
    if (endpoint === undefined) return undefined
    const { auditPosition: after } = endpoint
    return { endpoint, entries: yield* tables.audit.list({ after, limit: BATCH }) }
  })
  if (due === undefined) return
  const { endpoint } = due
  const { url, scheme, auditPosition, failures } = endpoint
  const { numbers, body } = messageOf(due.entries, version)
  const position = numbers.at(-1) ?? auditPosition
  // Another node has sent what was due.
  if (body === '[]')
    return store.write((tables) => tables.webhooks.releaseAudit(id, { position, held }))
  const secrets = liveSecrets(service, endpoint)
  const message = { url, scheme, secrets, id: `audit_${numbers[0]}_${position}`, body }
  const result: AttemptResult =
    secrets.length === 0 ? { error: 'secret_unavailable' } : await webhooks.send(message, signal)
  // A shutdown says nothing about the endpoint.
  if (signal.aborted) return
  const ended = clock.now()
  const isAccepted = succeeded(result)
  const standing = judgeEndpoint(failures, [{ result, isLate: false }], ended)
  const pausedUntil = isAccepted ? 0 : Math.max(standing.pausedUntil, ended + PAUSE_MS)
  const change = { ...standing, pausedUntil, now: ended, isGone: isGone(result) }
  await store.write(function* (tables) {
    yield* tables.webhooks.recordEndpoint(endpoint, change)
    yield* tables.webhooks.releaseAudit(id, {
      position: isAccepted ? position : auditPosition,
      held,
    })
  })
  meter.attemptedWebhook(resultOf(result), false)
}

/** A JSON array of as many entries as one call may have, but at least one. */
function messageOf(entries: readonly AuditEntry[], version: string) {
  // An entry whose retention has ended has no content to send.
  const texts = entries.map((entry) =>
    entry.contentHash === null ? escapeHiddenJson(JSON.stringify(ocsfEvent(entry, version))) : '',
  )
  let length = 0
  const end = texts.findIndex((text, index) => (length += text.length) > MAX_LENGTH && index > 0)
  const count = end === -1 ? texts.length : end
  return {
    numbers: entries.slice(0, count).map(({ number }) => number),
    body: `[${texts.slice(0, count).filter(Boolean).join(',\n')}]`,
  }
}
