import { makeId, type RequestId, type TenantId } from '@bonded/contract'
import { WakeUps } from '@bonded/core/collections/wake-ups'
import type { Tenant } from '@bonded/core/domain/tenant'
import type { Service } from '@bonded/core/operations/service'
import type { AssertionVerifier } from '@bonded/core/ports/devices'
import { noMeter } from '@bonded/core/ports/meter'
import { appAssertionVerifier } from '@bonded/server/adapters/attestation/app-assertion-verifier'
import { webauthnVerifier } from '@bonded/server/adapters/attestation/webauthn/assertion-verifier'
import { emptyMemory, type Memory } from '../../../packages/core/tests/memory/memory.ts'
import { memoryStore } from '../../../packages/core/tests/memory/memory-store.ts'
import { gameKeys, seededRandom } from '../platform/keys.ts'
import { type ReceiptParts, receiptParts } from './receipts.ts'

/** The service, the bank, and the relying party of their passkeys. */
export const SERVICE_ORIGIN = 'https://approve.bank.example'
export const BANK_ORIGIN = 'https://bank.example'
export const RP_ID = 'bank.example'

/** When every game begins. */
const BEGIN = Date.parse('2027-01-04T09:00:00.000Z')
const DAY_MS = 24 * 60 * 60_000
const TENANT_ID = `ten_${'b'.repeat(22)}` as TenantId

/** The workflow of the bank's tools, which agents call. */
export const TOOLS = 'tools'
/** How many people must approve a payment of the bank itself. */
export const NEEDED = 2

/** The workflows of the bank. */
export const TENANT: Tenant = {
  id: TENANT_ID,
  name: 'Harbor Bank',
  environment: 'sandbox',
  demo: false,
  origins: [BANK_ORIGIN],
  workflows: [
    { name: 'transfer', actions: ['send_money'], require: ['local_auth'] },
    { name: 'sign_in', actions: ['sign_in'], require: ['local_auth'] },
    { name: 'confirmed', actions: ['sign_in'], require: ['local_auth', 'browser'] },
    { name: TOOLS, actions: ['rename_card', 'close_card'], require: ['local_auth'] },
    {
      name: 'payments',
      actions: ['release'],
      require: ['local_auth'],
      delivery: 'inbox',
      quorum: { needed: NEEDED },
    },
  ],
}

/** What the service knows of a number that no bank names. */
const NO_CARRIER = {
  device_status: 'unknown',
  number_verified: false,
  sim_swap_recent: false,
  source: 'none',
} as const

/** The service on a store in memory, and the clock that the player moves. */
export interface GameService {
  readonly service: Service
  /** Lets time pass. */
  wait(ms: number): void
  /** Random values of a party, which do not depend on those of another one. */
  readonly randomOf: (party: string) => ReturnType<typeof seededRandom>
  readonly requestId: () => RequestId
  /** What is stored, which an operator can change. */
  readonly memory: Memory
  readonly receipts: ReceiptParts
  /** The checks of the verifiers that have failed. The timeline names some of them in short. */
  readonly faults: readonly string[]
}

/** Starts the service with the ports that the levels use. */
export function startService(seed: string): GameService {
  const randomOf = (party: string) => seededRandom(`${seed} ${party}`)
  const requests = randomOf('requests')
  const faults: string[] = []
  const observed = (verifier: AssertionVerifier): AssertionVerifier => ({
    verify(assertion) {
      const verified = verifier.verify(assertion)
      if (!verified.ok) faults.push(verified.rejection.step ?? verified.rejection.reason)
      return verified
    },
  })
  const app = observed(appAssertionVerifier)
  const clock = gameClock()
  const { now } = clock
  const memory = emptyMemory()
  const receipts = receiptParts(randomOf('receipts').bytes, now)
  const parts: Partial<Service> = {
    // No page or phone watches: each reads the session after its move.
    store: memoryStore({ publish() {} }, [TENANT], memory),
    receiptSigner: receipts.signer,
    witnesses: [receipts.witness],
    keptCheckpoint: {
      read: async () => receipts.kept,
      store: async (checkpoint) => void (receipts.kept = checkpoint),
    },
    startedAt: BEGIN - DAY_MS,
    shutdown: { isAnnounced: false, endOfWaiting: new AbortController().signal },
    meter: noMeter,
    clock: { now, elapsed: () => now() - BEGIN, schedule: () => () => {} },
    keys: gameKeys(randomOf('root key').bytes()),
    random: randomOf('service'),
    wakeUps: new WakeUps(),
    carrier: { check: async () => ({ finding: NO_CARRIER }) },
    assertionVerifiers: {
      software: app,
      'android-key': app,
      'apple-app-attest': app,
      webauthn: observed(webauthnVerifier({ origin: SERVICE_ORIGIN })),
    },
    settings: {
      publicOrigin: SERVICE_ORIGIN,
      rpId: RP_ID,
      relatedOrigins: true,
      appScheme: 'pulse',
      qrContent: 'universal_link',
      appLinks: { apple: [], android: [] },
      version: 'game',
      limits: 'off',
      deviceTokenTtlMs: Number.MAX_SAFE_INTEGER,
      trustedProxies: 0,
      connections: {} as never,
    },
  }
  return {
    service: parts as Service,
    wait: clock.wait,
    randomOf,
    requestId: () => makeId('req', requests.id()),
    memory,
    receipts,
    faults,
  }
}

/** How often a move reads the clock at most: far more than any call of the service does. */
const MOST_READINGS = 10_000

/**
 * The clock of a game. A call of the service that is repeated while it loses a race never ends once
 * its guard is removed, since time stands still within a move: it fails at its last reading.
 */
function gameClock() {
  let now = BEGIN
  let readings = 0
  return {
    now: () => {
      if (++readings > MOST_READINGS) throw new Error('a call repeats itself without an end')
      return now
    },
    wait: (ms: number) => {
      now += ms
      readings = 0
    },
  }
}
