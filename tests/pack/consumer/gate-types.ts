// Compiled, but never run: the types of the integrator package installed alone.
import {
  createGate,
  type Gate,
  type MemoryTransaction,
  memoryPendingStore,
  type ProtectOutcome,
  type PublicCreatedSession,
} from '@bonded/integrator'
import { testBonded } from '@bonded/integrator/testing'

const gate: Gate<MemoryTransaction> = createGate({
  baseUrl: 'https://bond.example/api/v1',
  serverCredential: 'sk_beta_…',
  store: memoryPendingStore(),
})
const bond = { workflow: 'w', action: 'a', owner: 'user-1' }
export const session: Promise<{ session: PublicCreatedSession }> = gate.create({
  ...bond,
  context: { display: [{ label: 'Amount', value: '€12,500' }], digest: null },
})
export const id: Promise<string> = session.then((created) => created.session.id)
export const outcome: Promise<ProtectOutcome<number>> = gate.protect({
  ...bond,
  session_id: 'sess_…',
  form_digest: 'digest',
  accept: async () => 1,
})
// @ts-expect-error the types are not `any`: a session has no such member.
export const secret = session.then((created) => created.session.completion_secret)
// @ts-expect-error the types of the schemas are there too: a state is a string.
export const state: Promise<number> = session.then((created) => created.session.state)
const { service } = testBonded({ state: 'bonded', reason: 'low_confidence', tier: 'chip' })
export const tested = createGate({ ...service, store: memoryPendingStore() })
// @ts-expect-error a state has only its own reasons.
testBonded({ state: 'killed', reason: 'low_confidence' })
