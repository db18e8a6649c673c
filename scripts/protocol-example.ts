import { hash } from 'node:crypto'
import {
  assertionPayload,
  canonicalJson,
  deviceTokenPayload,
  encodeBase64url,
  evidenceMacInput,
  evidenceRequestPayload,
  type SessionId,
} from '@bonded/contract'
import { keyringOf } from '../packages/service/src/adapters/keys/keyring.ts'

/** Known to everybody, as all of this is. */
const ROOT_KEY = Uint8Array.from({ length: 32 }, (_, at) => 255 - at)
const KEY_ID = 'k7'

const session_id = 'sess_7Ud2kQ9mZrB4xVnT1cLe0A'
const IDS = {
  session_id,
  device_id: 'dev_Xo5pGh3YbN8sWq6KtJ2fRv',
  subject_id: 'sub_1aMzC4uE9iHdPy7LkSg0Bw',
} as const
const TENANT_ID = 'ten_Q8rFv5jN2oTx6DeUl3WmKc'
const ORIGIN = 'https://bond.example'

const CONTEXT = {
  display: [{ label: 'Amount', value: '€12,500' }],
  digest: sha('the form as it was sent'),
}
const SIGNALS = {
  local_auth: { result: 'verified', method: 'biometric', verified_at: '2026-11-21T09:30:01.000Z' },
  sensor_continuity: {
    window_ms: 2000,
    features: [{ t_ms: 0, acc_var: 0.25, gyro_var: 1e-7, handling: 1 }],
  },
}
const SUMMARY = {
  issued_at: '2026-11-21T09:30:02.120Z',
  expires_at: '2026-11-21T09:35:00.000Z',
  kid: KEY_ID,
  local_auth: SIGNALS.local_auth,
  carrier: {
    number_verified: false,
    sim_swap_recent: false,
    device_status: 'unknown',
    checked_at: '2026-11-21T09:30:02.120Z',
    source: 'none',
  },
  sensor_continuity: {
    motion_present: true,
    continuity_score: 0,
    window_ms: 2000,
    samples: 1,
    model: 'carry-v2',
  },
}

/** One key for all formats, so that their assertions can be laid side by side. Its private half was thrown away. */
const PUBLIC_KEY =
  'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEog_twv32aiITMfpMmU5ov8PGN49ULxrrlTe7sWXOVY9n0LSiL91cwNr9bdjasQbVZzADXeR90qh8-GoQmdvEOw'
const APPS = {
  software: 'software',
  'android-key': `example.bank:${'ab'.repeat(32)}`,
  'apple-app-attest': 'A1B2C3D4E5.example.bank',
  webauthn: 'bond.example',
} as const
type Format = keyof typeof APPS

/** ECDSA draws a number for each signature, so these were made once. The test of the example verifies them. */
const SIGNATURES = {
  evidence:
    'MEUCIGRvX5oa7SX5xYxnE4EB9Ykx5R-2VgXFQIEDLL28SuT_AiEAyQqoohGZJzQYBzQQLpGweHUuTjAXlN2g4Pb3WC_e54k',
  token:
    'MEUCIHpveGvxHZZIwyLoZ4BX3XNNVqJBuoi66SW2BOMaC48JAiEAufPuXClDqVXzo8vvEsOhU0moNEka1_pKfiYufmQ1GEU',
  software:
    'MEUCIGNtYcDC5sDXhMp94zsdYkNybMRuw53taSC62ANW0bHOAiEA5yHOR5CMfJMIrbFwZe2TsKPhTPtm1cHY6jWWWjoLWqI',
  'android-key':
    'MEUCIBOZs-2FtjioN7Nr70EjnRMYIZNPTl38nJh05vALWPBQAiEA4PqNoLqH_66vbnvJqxNz4eJJCJKnQxcjF9CAwGzImsg',
  'apple-app-attest':
    'MEUCIQDmNsim8k58Y0zmfs-0kYNuZcRTR7Mii2LJtFj0us14mwIgWeCO69CXP0_vz-SH4lzQ4JGJpEbfEhE78L6WglulRC4',
  webauthn:
    'MEUCIGuzGmykZreIyfaAezVxzpUZS87HTfpWH8j5FPVvx2ftAiEAjpaxU6Cj_4oBS7ycIs87J7OGw1yVf_tlJNQk4O2eqlA',
} as const

/** Every intermediate text and hash of docs/reference/protocol.md, for one session: what a client in any language is tested with. */
export function protocolExample() {
  const keys = keyringOf([{ id: KEY_ID, bytes: ROOT_KEY }])
  const { nonceAt, stepNonceAt } = keys.nonces(KEY_ID, session_id as SessionId)
  const nonce = nonceAt(0)
  const scope = { ...IDS, nonce, tenant_id: TENANT_ID }
  const verified_evidence = { ...SUMMARY, signature: keys.evidenceMac(KEY_ID, scope, SUMMARY) }

  const evidencePayload = evidenceRequestPayload({
    ...IDS,
    nonce,
    issued_at: '2026-11-21T09:30:02.000Z',
    signals: sha(canonicalJson(SIGNALS)),
  })
  const payload = assertionPayload({
    ...IDS,
    nonce,
    issued_at: '2026-11-21T09:30:03.000Z',
    tenant_id: TENANT_ID,
    workflow: 'credit_application',
    action: 'submit_application',
    origin: ORIGIN,
    context: sha(canonicalJson(CONTEXT)),
    evidence: sha(canonicalJson(verified_evidence)),
  })
  const { device_id, subject_id } = IDS
  const tokenPayload = deviceTokenPayload({
    device_id,
    subject_id,
    issued_at: '2026-11-21T09:31:00.000Z',
    origin: ORIGIN,
  })
  const app = (format: Format, signature: string, of: { payload: string; counter: number }) => ({
    app_id: APPS[format],
    app_attest: {
      key_id: KEY_NAME,
      client_data_hash: sha(of.payload),
      authenticator_data: authenticatorData(APPS[format], of.counter),
      signature,
    },
  })
  const clientData = `{"type":"webauthn.get","challenge":"${sha(payload)}","origin":"${ORIGIN}","crossOrigin":false}`

  return {
    about:
      'One session, step by step, for docs/reference/protocol.md. Binary is base64url. The root key is the service’s; a client never has one.',
    root_key: { id: KEY_ID, bytes: encodeBase64url(ROOT_KEY) },
    session: {
      ...IDS,
      tenant_id: TENANT_ID,
      origin: ORIGIN,
      nonce,
      second_nonce: nonceAt(1),
      first_step_nonce: stepNonceAt(1),
      watch_token: keys.watchToken(KEY_ID, session_id as SessionId).reveal(),
      completion_secret: keys.completionSecret(KEY_ID, session_id as SessionId).reveal(),
      subject_ref: keys.subjectRef(TENANT_ID, IDS.subject_id),
      passport_challenge_hex: hash('sha256', `bond-aa/v1${nonce}`, 'hex').slice(0, 16),
    },
    context: {
      sent: CONTEXT,
      canonical: canonicalJson(CONTEXT),
      hash: sha(canonicalJson(CONTEXT)),
    },
    public_key_spki: PUBLIC_KEY,
    evidence_request: {
      signals: SIGNALS,
      signals_canonical: canonicalJson(SIGNALS),
      signals_hash: sha(canonicalJson(SIGNALS)),
      payload: evidencePayload,
      software: app('software', SIGNATURES.evidence, { payload: evidencePayload, counter: 1 }),
    },
    verified_evidence: {
      mac_input: evidenceMacInput(scope, verified_evidence),
      answered: verified_evidence,
      hash: sha(canonicalJson(verified_evidence)),
    },
    assertion: {
      payload,
      software: app('software', SIGNATURES.software, { payload, counter: 2 }),
      'android-key': app('android-key', SIGNATURES['android-key'], { payload, counter: 2 }),
      'apple-app-attest': app('apple-app-attest', SIGNATURES['apple-app-attest'], {
        payload,
        counter: 2,
      }),
      webauthn: {
        client_data: clientData,
        app_id: APPS.webauthn,
        app_attest: {
          key_id: KEY_NAME,
          client_data_hash: sha(clientData),
          authenticator_data: authenticatorData(APPS.webauthn, 0),
          signature: SIGNATURES.webauthn,
          client_data_json: encodeBase64url(new TextEncoder().encode(clientData)),
        },
      },
    },
    device_token: {
      payload: tokenPayload,
      software: app('software', SIGNATURES.token, { payload: tokenPayload, counter: 3 }),
    },
  }
}

/** As the formats that name a key by its hash have it. */
const KEY_NAME = hash('sha256', Buffer.from(PUBLIC_KEY, 'base64url'), 'base64url')
/** User present and user verified. */
const FLAGS = 0x05

function authenticatorData(appId: string, counter: number): string {
  const counted = Buffer.alloc(5)
  counted.writeUInt8(FLAGS)
  counted.writeUInt32BE(counter, 1)
  return Buffer.concat([hash('sha256', appId, 'buffer'), counted]).toString('base64url')
}

function sha(text: string): string {
  return hash('sha256', text, 'base64url')
}
