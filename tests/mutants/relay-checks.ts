import { ATTESTATION, CORE, SERVER } from './against.ts'
import type { Mutant } from './mutant.ts'
import { RELAYED } from './relayed.ts'

const FRAME = 'packages/phone-page/src/frame'
const PAGES = `${SERVER}/src/http/pages`
const WEBAUTHN = `${ATTESTATION}/src/webauthn`
const CHECKS = `${CORE}/src/protocol/checks.ts`

/** A check that stops a relay, and the attack of `npm run prove:relay` that misses it. */
export interface RelayCheck {
  readonly mutant: Pick<Mutant, 'name' | 'file' | 'find' | 'replace'>
  readonly attack: number
  /** Whether the tier `soak` plants it: one for each party that checks. */
  readonly everyRun: boolean
}

/** Mutants that a test of the service detects too. */
const SHARED: readonly (readonly [name: string, attack: number])[] = [
  ['a phone bonds alone in a workflow that requires the browser', 1],
  ['the proof of the browser leaves out the commitment', 7],
  ['the proof of the browser leaves out the session', 7],
  ['the proof of the browser leaves out the tenant', 7],
  ['the proof of the browser leaves out the action', 7],
  ['the proof of the browser leaves out the workflow', 7],
  ['the proof of the browser leaves out the origin of the page', 7],
  ['a proof with an unchanged counter bonds', 7],
  ['a browser fails as often as it likes', 7],
  ['a phone without a passkey serves a workflow that requires the browser', 8],
  ['a gate that requires the browser accepts any user', 8],
  ['a phone that was added yesterday serves a workflow that requires the browser', 9],
  ['a phone that was added yesterday adds another one', 9],
  ['a form of another browser reads the verification', 13],
  ['another commitment reads the session as proved', 14],
  ['a gate accepts the proof of another page', 15],
  ['a gate without a rule accepts the proof of any page', 15],
  ['a form without the secret reads the verification', 17],
  ['a phone that is blocked after its approval bonds', 18],
  ['an approval with old evidence bonds', 18],
  ['proofs for an unusable phone are not counted', 18],
]

/** Name, file, text, replacement, and the attack. */
const OWN: readonly (readonly [string, string, string, string, number])[] = [
  [
    'the service ignores the requirement',
    `${CORE}/src/domain/browser-proof.ts`,
    "return require.includes('browser')",
    "return require.includes('browser') && require.length > 9",
    17,
  ],
  [
    'any signature proves a browser',
    `${WEBAUTHN}/verify-assertion.ts`,
    "if (!isSignatureOf({ message, digest: 'sha256', signature, key: publicKey }))\n    return fail('signature')",
    'isSignatureOf({ message, digest: "sha256", signature, key: publicKey })',
    4,
  ],
  [
    'a guessed watch token is accepted',
    `${CORE}/src/ports/derived-keys.ts`,
    'hashing.same(watchTokenOf(id, sessionId), token)',
    'watchTokenOf(id, sessionId).length === token.length',
    4,
  ],
  [
    'client data of a registration proves a browser',
    `${WEBAUTHN}/client-data.ts`,
    "if (type !== expected.type) return 'client_data_type'",
    '',
    7,
  ],
  [
    'a signature over another challenge proves a browser',
    `${WEBAUTHN}/client-data.ts`,
    "return 'client_data_challenge'",
    'void 0',
    7,
  ],
  [
    'another relying party proves a browser',
    `${WEBAUTHN}/verify-assertion.ts`,
    "if (!hash('sha256', rpId, 'buffer').equals(data.rpIdHash)) return fail('app_id')",
    '',
    7,
  ],
  [
    'a page of any origin proves a browser',
    `${WEBAUTHN}/client-data.ts`,
    "if (origin !== expected.origin) return 'client_data_origin'",
    '',
    15,
  ],
  [
    'a page in a strange page proves a browser',
    `${WEBAUTHN}/client-data.ts`,
    'return (crossOrigin ?? false) === false && topOrigin === undefined',
    'return true',
    5,
  ],
  [
    'the frame proves any page around it',
    `${WEBAUTHN}/client-data.ts`,
    'return crossOrigin === true && (topOrigin === undefined || topOrigin === expected)',
    'return crossOrigin === true',
    16,
  ],
  [
    'a passkey proves a browser without its user',
    `${WEBAUTHN}/verify-assertion.ts`,
    "if (!data.userVerified) return fail('user_verified')",
    '',
    11,
  ],
  [
    'the first phone of an account belongs to another user',
    CHECKS,
    "serving('older_phone_active', 'device_not_usable', (f) => f.olderPhone),",
    '',
    9,
  ],
  [
    'a device token adds a key without an approval',
    `${CORE}/src/operations/device/device-request.ts`,
    '    ...signedFacts(service, { device, payload, appAttest }, raise),',
    '    assertion: () => accept({ counter: device.counter + 1, userVerified: false }),\n    raiseCounter: () => raise(device.counter + 1),',
    10,
  ],
  [
    'a form of a removed phone passes',
    `${CORE}/src/operations/device/record-device-change.ts`,
    'WITHDRAWING.includes(kind)',
    'WITHDRAWING.length === 0',
    18,
  ],
  [
    'a repeated approval counts as another one',
    `${CORE}/src/protocol/states.ts`,
    "return nonce === 'step' || bond",
    'return bond',
    19,
  ],
  [
    'a page of another tenant proves its browser',
    `${CORE}/src/operations/browser/proving-page.ts`,
    'return allowsOrigin(key.tenant, page)',
    'return allowsOrigin(key.tenant, page) || page !== undefined',
    16,
  ],
  [
    'a page says that it is the frame',
    `${CORE}/src/operations/browser/proving-page.ts`,
    "if (isFramed && origin !== settings.publicOrigin) return reject('origin_not_allowed')",
    '',
    16,
  ],
  [
    'a page proves itself where only the frame may',
    CHECKS,
    "browser('origin', 'browser_proof_invalid', (f) => !f.pageMayProve),",
    '',
    20,
  ],
  [
    'any page may use the passkeys',
    `${PAGES}/related-origins.ts`,
    'return [...new Set(origins)].toSorted()',
    "return [...new Set([...origins, 'https://evil.test'])].toSorted()",
    3,
  ],
  [
    'tenants of several organizations may use the passkeys',
    `${PAGES}/related-origins.ts`,
    "if (service.settings.relatedOrigins !== true) throw new Rejected({ reason: 'page_not_found' })",
    '',
    20,
  ],
  [
    'pages read the ids of passkeys',
    `${SERVER}/src/http/response/present.ts`,
    'allow_credentials: [],',
    'allow_credentials: [...approval.credentials],',
    20,
  ],
  [
    'any page frames the frame',
    `${PAGES}/framed-page.ts`,
    '`${contentSecurityPolicy}; frame-ancestors ${ancestors}`',
    '`${contentSecurityPolicy}; frame-ancestors ${ancestors} *`',
    5,
  ],
  [
    'the frame works in frames',
    `${FRAME}/parent-message.ts`,
    'return parent !== self && parent === top',
    'return parent !== self',
    5,
  ],
  [
    'the frame works as a popup',
    `${FRAME}/parent-message.ts`,
    'return parent !== self && parent === top',
    'return parent === top',
    6,
  ],
  [
    'the opener of a popup reaches it',
    `${PAGES}/browser-frame.ts`,
    "      'cross-origin-opener-policy': 'same-origin',\n",
    '',
    6,
  ],
  [
    'a frame beside it starts the frame',
    `${FRAME}/parent-message.ts`,
    'if (source === null || source !== parent || !PAGE_ORIGIN.test(origin)) return undefined',
    'if (source === null || parent === null || !PAGE_ORIGIN.test(origin)) return undefined',
    6,
  ],
]

/** One for each party that checks: service, its cryptography, its frame, its list, and the gate. */
const EVERY_RUN = [
  'the service ignores the requirement',
  'a form without the secret reads the verification',
  'a page of any origin proves a browser',
  'a gate accepts the proof of another page',
  'any page frames the frame',
  'any page may use the passkeys',
]

/** Every check of the browser's proof, removed singly. */
export const RELAY_CHECKS: readonly RelayCheck[] = [
  ...SHARED.map(([name, attack]) => ({ mutant: sharedMutant(name), attack })),
  ...OWN.map(([name, file, find, replace, attack]) => ({
    mutant: { name, file, find, replace },
    attack,
  })),
].map((check) => ({ ...check, everyRun: EVERY_RUN.includes(check.mutant.name) }))

function sharedMutant(name: string): Mutant {
  const found = RELAYED.find((mutant) => mutant.name === name)
  if (found === undefined) throw new Error(`no mutant is named: ${name}`)
  return found
}
