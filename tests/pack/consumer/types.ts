// Compiled, but never run: the types of the installed packages in an environment without Node.
import { type CreatedSession, ENDPOINTS, parseHandoff } from '@bonded/contract'
import {
  createGate,
  type Gate,
  type MemoryTransaction,
  memoryPendingStore,
  type ProtectOutcome,
} from '@bonded/integrator'
import { createPhone, type PhoneOptions } from '@bonded/phone'
import { loadPulse, type Pulse } from '@bonded/widget'
import type { PulseBondElement } from '@bonded/widget/element'

declare const options: PhoneOptions
declare const created: CreatedSession
declare const pulse: Pulse

const gate: Gate<MemoryTransaction> = createGate({
  baseUrl: 'https://bond.example/api/v1',
  serverCredential: 'sk_beta_…',
  store: memoryPendingStore(),
})
export const outcome: Promise<ProtectOutcome<number>> = gate.protect({
  workflow: 'w',
  action: 'a',
  owner: 'user-1',
  session_id: created.id,
  accept: async () => 1,
})
export const phone = createPhone(options).claim(parseHandoff(created.qr_payload) ?? '')
export const version: string = pulse.version
export const loaded: Promise<Pulse> = loadPulse({ origin: 'https://bond.example', version })
export const element: PulseBondElement | undefined = undefined
export const asked = document.querySelector('pulse-bond')!.requireBond()
export const path: string = ENDPOINTS.createSession.path
// @ts-expect-error the types are not `any`: a gate has no such verb.
gate.approve()
