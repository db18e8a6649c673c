import {
  assertionPayload,
  type AppAttest,
  browserPayload,
  canonicalJson,
  credentialName,
  decodeBase64url,
  deviceAddPayload,
  type DeviceFormat,
  devicePushPayload,
  deviceRecoveryPayload,
  deviceRemovePayload,
  deviceTokenPayload,
  encodeBase64url,
  evidenceRequestPayload,
  inboxPayload,
  inboxResumePayload,
  parseHandoff,
  parseStrictJson,
} from '@bonded/contract'
import {
  Secret,
  verifyConsistency,
  verifyQuorum,
  verifyReceipt,
  verifyWebhook,
} from '@bonded/integrator'
import { verifyWitnesses } from '@bonded/integrator/witnesses'
import { appleVerifier } from '../../../packages/server/src/adapters/attestation/apple/assertion-verifier.ts'
import { appAssertionVerifier } from '../../../packages/server/src/adapters/attestation/app-assertion-verifier.ts'
import { webauthnVerifier } from '../../../packages/server/src/adapters/attestation/webauthn/assertion-verifier.ts'
import { sha256 } from '../../../packages/integrator/src/receipt/phone-signature.ts'
import type { Device } from '../../../packages/core/src/domain/session.ts'

/** The input of a test of the kit, whose file says what it has. */
// oxlint-disable-next-line typescript/no-explicit-any -- the functions under test check it
type Input = any

/** The product's own functions, by the file of vectors that they answer. */
export const PRODUCT: Readonly<Record<string, (input: Input) => Promise<boolean>>> = {
  async encodings({ kind, text, canonical }) {
    if (kind === 'base64url') return decodeBase64url(text) !== undefined
    if (kind === 'qr') return parseHandoff(text) !== undefined
    const parsed = parseStrictJson(text)
    return 'value' in parsed && (kind === 'json' || canonicalJson(parsed.value) === canonical)
  },
  payloads: async ({ typ, members, text }) => (await payloadOf(typ, members)) === text,
  assertions: async (input) => verifiedCounter(input) > input.last_counter || isUncounted(input),
  receipts: async ({ receipt, jwks, issuer, tenant_id: tenantId, session_id: sessionId, proof }) =>
    isAccepted(await verifyReceipt({ receipt, jwks, issuer, tenantId, sessionId, proof })),
  quorums: async ({ receipts, jwks, tenant_id: tenantId, workflow, digest, minimum }) =>
    isAccepted(await verifyQuorum(receipts, { jwks, tenantId, workflow, digest, minimum })),
  logs: async (input) => isAccepted(await verifyConsistency(input)),
  'closed-logs': async (input) => isAccepted(await verifyConsistency(input)),
  witnesses: async ({ checkpoint, witnesses, required }) =>
    isAccepted(await verifyWitnesses(checkpoint, { witnesses, required })),
  async webhooks({ headers, body, secrets, now }) {
    const secret = (secrets as string[]).map((one) => new Secret(one))
    const clock = { now: () => now * 1_000 }
    return isAccepted(await verifyWebhook({ headers, body, secret, clock }))
  },
}

function isAccepted({ decision }: { readonly decision: 'accept' | 'reject' }): boolean {
  return decision === 'accept'
}

async function payloadOf(typ: string, given: Input): Promise<string> {
  const sha = async (name: string) =>
    given[name] === undefined || given[name] === null
      ? given[name]
      : encodeBase64url(await sha256(new TextEncoder().encode(canonicalJson(given[name]))))
  switch (typ) {
    case 'bonded-assertion/v1':
      return assertionPayload({
        ...given,
        context: await sha('context'),
        evidence: await sha('verified_evidence'),
        browser_key: await sha('browser_key'),
      })
    case 'bonded-evidence-request/v1':
      return evidenceRequestPayload({ ...given, signals: await sha('signals') })
    case 'bonded-device-add/v1':
      return deviceAddPayload({ ...given, registration: await sha('registration') })
    case 'bonded-browser-credential/v1':
      return credentialName(given.session_id, given.credential_id)
    default:
      return OF_MEMBERS[typ]?.(given) ?? ''
  }
}

const OF_MEMBERS: Readonly<Record<string, (members: Input) => string>> = {
  'bonded-device-token/v1': deviceTokenPayload,
  'bonded-device-remove/v1': deviceRemovePayload,
  'bonded-device-recovery/v1': deviceRecoveryPayload,
  'bonded-browser/v1': browserPayload,
  'bonded-inbox/v1': inboxPayload,
  'bonded-inbox-resume/v1': inboxResumePayload,
  'bonded-device-push/v1': devicePushPayload,
}

/** The counter of an assertion that the service's verifier of the format accepts; -1 otherwise. */
function verifiedCounter(input: Input): number {
  const { format, public_key, key_id, app_id, origin, payload, app_attest } = input
  const device: Device = {
    id: 'dev_Xo5pGh3YbN8sWq6KtJ2fRv' as Device['id'],
    subjectId: 'sub_1aMzC4uE9iHdPy7LkSg0Bw' as Device['subjectId'],
    format,
    keyId: key_id,
    publicKey: Buffer.from(public_key, 'base64url'),
    environment: 'sandbox',
    status: 'active',
    appId: app_id,
    counter: 0,
    lastIssuedAt: null,
    createdAt: 0,
    ...(format === 'webauthn' && {
      webauthn: { attested: false, backupEligible: input.backup_eligible },
    }),
  }
  const apple = {
    appId: app_id,
    environments: [],
    categories: [],
    missing: 'allow',
    bundleVersions: 'any',
  } as const
  const verifiers = {
    software: appAssertionVerifier,
    'android-key': appAssertionVerifier,
    'apple-app-attest': appleVerifier([apple]),
    webauthn: webauthnVerifier({ origin }),
  }
  const appAttest = app_attest as AppAttest
  const verified = verifiers[format as DeviceFormat].verify({ device, payload, appAttest })
  return verified.ok ? verified.value.counter : -1
}

/** A WebAuthn key whose counter is always 0 is accepted (protocol 5). */
function isUncounted(input: Input): boolean {
  return input.format === 'webauthn' && input.last_counter === 0 && verifiedCounter(input) === 0
}
