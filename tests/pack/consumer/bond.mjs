// A complete bond in plain JavaScript, with a phone and a backend made from the installed packages.
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import process from 'node:process'
import { parseHandoff } from '@bonded/contract'
import { bindingDigest, createGate, memoryPendingStore } from '@bonded/integrator'
import { createPhone, requestOf } from '@bonded/phone'

const [origin, serverCredential] = process.argv.slice(2)
const gate = createGate({
  baseUrl: `${origin}/api/v1`,
  serverCredential,
  store: memoryPendingStore(),
})
const bond = { workflow: 'credit_application', action: 'submit_application', owner: 'user-1' }
const digest = await bindingDigest({ amount: 12_500 })
const { session } = await gate.create({
  ...bond,
  context: { display: [{ label: 'Amount', value: '€12,500' }], digest },
})
if (parseHandoff(session.qr_payload)?.session_id !== session.id) throw new Error('no handoff')

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
let kept
let counter = 0
const phone = createPhone({
  origin,
  signer: {
    publicKey: async () => publicKey.export({ format: 'der', type: 'spki' }),
    sign: async (message) => sign('sha256', message, privateKey),
  },
  sha256: (bytes) => createHash('sha256').update(bytes).digest(),
  store: {
    device: async () => kept,
    keep: async (device) => {
      kept = device
    },
    nextCounter: async () => ++counter,
  },
  fetch: (url, request) => fetch(url, request),
  clock: {
    now: () => performance.now(),
    schedule(delayMs, act) {
      const timer = setTimeout(act, delayMs)
      return () => clearTimeout(timer)
    },
  },
  WebSocket,
})
const claimed = await phone.claim(session.qr_payload)
const shown = requestOf(claimed.session)
const gather = () => ({
  local_auth: { result: 'verified', method: 'biometric', at_ms: performance.now() },
})
// A phone without sensors yields a doubtful bond. This backend accepts it and takes the same
// action.
const store = async () => 'stored'
const bonded = await phone.approve(claimed, { gather })
const forged = await gate.protect({
  ...bond,
  session_id: session.id,
  form_digest: await bindingDigest({ amount: 99_999 }),
  accept: store,
  review: store,
})
const outcome = await gate.protect({
  ...bond,
  session_id: session.id,
  form_digest: digest,
  accept: store,
  review: store,
})
const { session: ended } = outcome.outcome === 'completed' ? await phone.waitForEnd(bonded) : bonded
console.log(
  JSON.stringify({
    shown: shown.display,
    forged: forged.outcome,
    outcome: outcome.outcome,
    phone: ended.state,
  }),
)
// Runtimes differ in how long a closed socket keeps a process alive.
process.exit(0)
