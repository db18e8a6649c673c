import { createHash, createHmac, generateKeyPairSync, hkdfSync, sign } from 'node:crypto'

/*
 * One session of the protocol, calculated from the text of docs/reference/protocol.md with
 * node:crypto alone: every signed text is written out, and nothing is imported from the sources.
 * So a change of one byte in the sources fails a test.
 */

const sha = (data: string | Uint8Array) => createHash('sha256').update(data)
const hashOf = (text: string) => sha(text).digest('base64url')
const rootKey = Buffer.from(Array.from({ length: 32 }, (_, index) => index))
const keyOf = (purpose: string) =>
  Buffer.from(hkdfSync('sha256', rootKey, 'bonded-sessions/v1', purpose, 32))
const macOf = (purpose: string, text: string) =>
  createHmac('sha256', keyOf(purpose)).update(text).digest('base64url')

const session_id = 'sess_0123456789abcdefghijkl'
const device_id = 'dev_ABCDEFGHIJKLMNOPQRSTUV'
const subject_id = 'sub_abcdefghijklmnopqrstuv'
const tenant_id = 'ten_9876543210zyxwvutsrqpo'
const nonceAt = (index: number) => macOf('nonce', `${session_id}.${index}`)
const nonce = nonceAt(0)

const digest = hashOf('the form as it was sent')
const context = {
  display: [
    { label: 'Amount', value: '€ 12,500.00' },
    { label: 'To', value: 'Café Ünïcode ✓' },
  ],
  digest,
}
const contextText = `{"digest":"${digest}","display":[{"label":"Amount","value":"€ 12,500.00"},{"label":"To","value":"Café Ünïcode ✓"}]}`

const summary = {
  issued_at: '2026-11-21T09:30:02.000Z',
  expires_at: '2026-11-21T09:32:02.000Z',
  kid: 'k1',
  local_auth: { result: 'verified', method: 'biometric', verified_at: '2026-11-21T09:30:01.000Z' },
  carrier: {
    number_verified: true,
    sim_swap_recent: false,
    device_status: 'active',
    checked_at: '2026-11-21T09:30:02.000Z',
    source: 'camara',
  },
  sensor_continuity: {
    motion_present: true,
    continuity_score: 0.8125,
    window_ms: 60_000,
    samples: 60,
    model: 'v1',
  },
} as const
const carrierText =
  '"carrier":{"checked_at":"2026-11-21T09:30:02.000Z","device_status":"active","number_verified":true,"sim_swap_recent":false,"source":"camara"}'
const localAuthText =
  '"local_auth":{"method":"biometric","result":"verified","verified_at":"2026-11-21T09:30:01.000Z"}'
const continuityText =
  '"sensor_continuity":{"continuity_score":0.8125,"model":"v1","motion_present":true,"samples":60,"window_ms":60000}'
/** The members of the summary in their order, with the signature between them if it is given. */
const summaryText = (signed = '') =>
  `{${carrierText},"expires_at":"2026-11-21T09:32:02.000Z","issued_at":"2026-11-21T09:30:02.000Z","kid":"k1",${localAuthText},${continuityText}${signed}}`
const macInput = `bonded-evidence/v1\n{"context":{"device_id":"${device_id}","nonce":"${nonce}","session_id":"${session_id}","subject_id":"${subject_id}","tenant_id":"${tenant_id}"},"evidence":${summaryText()}}`
const signature = macOf('evidence', macInput)

const requestPayload = `{"device_id":"${device_id}","issued_at":"2026-11-21T09:30:01.500Z","nonce":"${nonce}","session_id":"${session_id}","signals":"${hashOf(`{${localAuthText}}`)}","subject_id":"${subject_id}","typ":"bonded-evidence-request/v1"}`
const payload = `{"action":"approve_wire","context":"${hashOf(contextText)}","device_id":"${device_id}","evidence":"${hashOf(summaryText(`,"signature":"${signature}"`))}","issued_at":"2026-11-21T09:30:03.000Z","nonce":"${nonce}","origin":"https://bond.example","session_id":"${session_id}","subject_id":"${subject_id}","tenant_id":"${tenant_id}","typ":"bonded-assertion/v1","workflow":"wire_transfer"}`

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const clientDataHash = sha(payload).digest()
/** User present and user verified; the first assertion of the key. */
const authenticatorData = Buffer.concat([sha('software').digest(), Buffer.of(5, 0, 0, 0, 1)])
const message = Buffer.concat([authenticatorData, clientDataHash])

export const workedExample = {
  root_keys: `k1:${rootKey.toString('base64url')}`,
  ids: { session_id, device_id, subject_id, tenant_id } as const,
  nonceAt,
  stepNonceAt: (step: number) => macOf('nonce', `${session_id}.s${step}`),
  completion_secret: `bcs_${macOf('completion', session_id)}`,
  watch_token: `bwt_${macOf('watch', session_id)}`,
  subject_ref: macOf('pairwise', `${tenant_id}\n${subject_id}`),
  context,
  context_hash: hashOf(contextText),
  verified_evidence: { ...summary, signature },
  evidence_mac_input: macInput,
  evidence_request: {
    issued_at: '2026-11-21T09:30:01.500Z',
    signals: { local_auth: summary.local_auth },
    payload: requestPayload,
  },
  assertion: {
    issued_at: '2026-11-21T09:30:03.000Z',
    workflow: 'wire_transfer',
    action: 'approve_wire',
    origin: 'https://bond.example',
    payload,
    client_data_hash: clientDataHash.toString('base64url'),
    authenticator_data: authenticatorData.toString('base64url'),
    public_key: publicKey.export({ format: 'der', type: 'spki' }),
    signature: sign('sha256', message, privateKey).toString('base64url'),
  },
} as const
