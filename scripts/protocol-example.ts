import { hash } from 'node:crypto'
import {
  assertionPayload,
  browserPayload,
  canonicalJson,
  type DeviceId,
  deviceAddPayload,
  deviceRecoveryPayload,
  deviceRemovePayload,
  deviceTokenPayload,
  encodeBase64url,
  evidenceMacInput,
  evidenceRequestPayload,
  devicePushPayload,
  inboxPayload,
  inboxResumePayload,
  type SessionId,
} from '@bonded/contract'
import { keyringOf } from '../packages/server/src/adapters/keys/keyring.ts'
import { CONTINUITY_MODEL } from '../packages/core/src/domain/continuity.ts'

/** A public test key. Everything in the example is public. */
const ROOT_KEY = Uint8Array.from({ length: 32 }, (_, index) => 255 - index)
const KEY_ID = 'k7'

const session_id = 'sess_7Ud2kQ9mZrB4xVnT1cLe0A'
const IDS = {
  session_id,
  device_id: 'dev_Xo5pGh3YbN8sWq6KtJ2fRv',
  subject_id: 'sub_1aMzC4uE9iHdPy7LkSg0Bw',
} as const
const TENANT_ID = 'ten_Q8rFv5jN2oTx6DeUl3WmKc'
const ORIGIN = 'https://bond.example'
/** Of the page that waits for the bond, in a workflow that requires the browser. */
const PAGE_ORIGIN = 'https://www.bank.example'

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
    model: CONTINUITY_MODEL,
  },
}

/**
 * One key for all formats, so that a reader can compare their assertions. Its private half no
 * longer exists.
 */
const PUBLIC_KEY =
  'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEbSDRPjImP9pXr7zZ0McLDJ_26kTtdhMEEWel1OPNE-VezbONML7tJgqSo_VWMZWjWRvNbyZNPoPrcLiMQWgthA'
/** The key that the example adds. */
const NEW_PUBLIC_KEY =
  'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEgFtDxlwxgIAlHSJSHXDPnKEdi_SvMbfKe00xZDwPRlE-6tp09hqETvJAM_LQt75CUwElcDPet5s10oPwjLPbRw'
const APPS = {
  software: 'software',
  'android-key': `example.bank:${'ab'.repeat(32)}`,
  'apple-app-attest': 'A1B2C3D4E5.example.bank',
  webauthn: 'bond.example',
} as const
type Format = keyof typeof APPS

/**
 * ECDSA signatures are random, so these were created once. The test of the example verifies them.
 * After a change of a signed text, such as the model's name, sign again with a new key.
 */
const SIGNATURES = {
  browser:
    'MEYCIQDVM4UWEFmaNcD5vJBf3I_uDuF5k2G_cD2P6AiwgmhEpQIhAKHuhU2fA6koKLwF35Eq4kVN9YePKy6P7nEsImhxYU8U',
  evidence:
    'MEUCIQDmeSvyV8tORXHajyQ2jq6f-XYL8EhcPsKovla3kxgINAIgA-TiVO0DOmxawk9YQ2eZVJ4qVl3BmWUa5owukMWgczo',
  token:
    'MEUCIE8FhznwfKoT26gEOx9p4oXebtxP0JaMxQKejhhTZhsDAiEApbzVO8s_c0uyKWXwFlnqQ1kBBUFy-6J4U-9Wyv7yW1g',
  add: 'MEYCIQDOwqodvCvghGpO1oRF1OLJ2JrEOfkUmbZ6bKca75yA_QIhAP8lZibDwjSm5hfd_i8F52MnlJj1cXNUe7GME-v9GS1G',
  remove:
    'MEUCIDx0Ng7rjNKrJsqwF5-qpYjKrGHWh21aKZuM0t9su7SvAiEAv25U9Fbc-Mh7fDjFBK1tgRfi78igPGF9WprHdxsWJgo',
  software:
    'MEYCIQD12qaXo59nmEpHHuJHs8MLAsrp4U9e8rq0337oWzl8JQIhAMpfIMipscTONbt0627HRQ14T6kAdQ1XHN8Y4XgBiGJz',
  'android-key':
    'MEYCIQDPZdvy6RiMBNAennxpmYMRkhoC9l4Xs3NAt9Scgu1V-AIhANxr-qYLFjO4sqlR1DVdMXZL_VLSlk3S7m9RbLlAXOcA',
  'apple-app-attest':
    'MEUCIHRQwSqkvgmek9xOTIIPZ1_iyKkSainiw4f2dYEHEEb3AiEAvIPDUMhsUxz9AkOZ9fKmfgJQyJ6KU5Zm4LyPC1qV3Og',
  webauthn:
    'MEUCIQC8BwfX98JTlqYeXEhzWYUaxswwTqHPeK9vo76ZQvassgIgZ6exb0MkK-B55WXFYYhR7leMeHqmy_CEEw5MFt1Kb2c',
} as const

/**
 * Every intermediate text and hash of docs/reference/protocol.md, for one session: test data for a
 * client in any language.
 */
// oxlint-disable-next-line max-lines-per-function -- one example, in the order of the protocol
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
  const inboxFields = {
    device_id,
    subject_id,
    issued_at: '2026-11-21T09:31:30.000Z',
    origin: ORIGIN,
  }
  const { nonceAt: inboxNonceAt } = keys.inboxNonces(
    KEY_ID,
    session_id as SessionId,
    device_id as DeviceId,
  )
  const registration = {
    format: 'software',
    challenge: sha('the challenge of the new key'),
    public_key: NEW_PUBLIC_KEY,
  }
  const addPayload = deviceAddPayload({
    challenge: registration.challenge,
    format: registration.format,
    registration: sha(canonicalJson(registration)),
    device_id,
    subject_id,
    issued_at: '2026-11-21T09:32:00.000Z',
    origin: ORIGIN,
  })
  const removed_device_id = 'dev_5Rk8ZtWq2NcYb7HxMv4JdL'
  const removePayload = deviceRemovePayload({
    removed_device_id,
    device_id,
    subject_id,
    issued_at: '2026-11-21T09:33:00.000Z',
    origin: ORIGIN,
  })
  const recoveryChallenge = sha('the challenge of the recovery')
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

  const secret = sha('32 random bytes of the page')
  const browserText = browserPayload({
    session_id,
    tenant_id: TENANT_ID,
    workflow: 'credit_application',
    action: 'submit_application',
    origin: PAGE_ORIGIN,
    commitment: sha(secret),
  })
  const browserData = `{"type":"webauthn.get","challenge":"${sha(browserText)}","origin":"${PAGE_ORIGIN}","crossOrigin":false}`

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
    browser: {
      origin: PAGE_ORIGIN,
      secret,
      payload: browserText,
      client_data: browserData,
      body: {
        commitment: sha(secret),
        assertion: {
          id: KEY_NAME,
          rawId: KEY_NAME,
          type: 'public-key',
          authenticatorAttachment: 'cross-platform',
          clientExtensionResults: {},
          response: {
            clientDataJSON: encodeBase64url(new TextEncoder().encode(browserData)),
            authenticatorData: authenticatorData(APPS.webauthn, 0),
            signature: SIGNATURES.browser,
          },
        },
      },
    },
    device_token: {
      payload: tokenPayload,
      software: app('software', SIGNATURES.token, { payload: tokenPayload, counter: 3 }),
    },
    inbox: {
      nonce: inboxNonceAt(0),
      second_nonce: inboxNonceAt(1),
      payload: inboxPayload(inboxFields),
      resume_payload: inboxResumePayload({ ...inboxFields, tenant_id: TENANT_ID }),
      push_payload: devicePushPayload({
        ...inboxFields,
        endpoint: 'https://fcm.googleapis.com/fcm/send/example',
      }),
    },
    device_recovery: {
      challenge: recoveryChallenge,
      payload: deviceRecoveryPayload({ challenge: recoveryChallenge, origin: ORIGIN }),
    },
    device_add: {
      registration,
      registration_canonical: canonicalJson(registration),
      registration_hash: sha(canonicalJson(registration)),
      payload: addPayload,
      software: app('software', SIGNATURES.add, { payload: addPayload, counter: 4 }),
    },
    device_remove: {
      removed_device_id,
      payload: removePayload,
      software: app('software', SIGNATURES.remove, { payload: removePayload, counter: 5 }),
    },
  }
}

/** As the formats store it that identify a key by its hash. */
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
