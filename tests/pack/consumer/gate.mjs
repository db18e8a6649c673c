// A gate of the integrator package, without any other package of this repository.
import { bindingDigest, createGate, memoryPendingStore } from '@bonded/integrator'
import { testBonded } from '@bonded/integrator/testing'

process.env.BONDED_TEST_DOUBLE = 'on'
const { service } = testBonded()
const gate = createGate({ ...service, store: memoryPendingStore() })
const verdict = await gate.verify({
  session_id: `sess_${'a'.repeat(22)}`,
  owner: 'user-1',
  workflow: 'w',
  action: 'a',
})
const digest = await bindingDigest({ amount: 12_500 })
console.log(JSON.stringify({ digest: digest.length, rejected: verdict.reasons }))
