import { against, CONTRACT, CORE, INTEGRATOR, SERVER, STORE } from './against.ts'

const PROOF = `${CORE}/tests/operations/prove-browser.test.ts`
const BROWSER_KEY = `${CORE}/tests/operations/browser-key.test.ts`
const FAILURES = `${CORE}/tests/operations/browser-failures.test.ts`
const PROVE = `${CORE}/src/operations/prove-browser.ts`

/** What the browser's key signs, as the source has it. */
const BROWSER_MEMBERS = [
  'action',
  'commitment',
  'origin',
  'session_id',
  'tenant_id',
  "typ: 'bonded-browser/v1'",
  'workflow',
]
  .map((member) => `    ${member},`)
  .join('\n')
const without = (member: string) => BROWSER_MEMBERS.replace(`    ${member},`, '')

/** Mutants that bond a browser which is not beside the phone, or pass its form. */
export const RELAYED = against('relayed', [
  [
    'a phone bonds alone in a workflow that requires the browser',
    `${CORE}/src/operations/attest.ts`,
    'if (!requiresBrowser(session.policy)) {',
    'if (session !== undefined) {',
    PROOF,
  ],
  [
    'the proof of the browser leaves out the commitment',
    `${CONTRACT}/src/payloads.ts`,
    BROWSER_MEMBERS,
    without('commitment'),
    PROOF,
  ],
  [
    'the proof of the browser leaves out the session',
    `${CONTRACT}/src/payloads.ts`,
    BROWSER_MEMBERS,
    without('session_id'),
    PROOF,
  ],
  [
    'the proof of the browser leaves out the tenant',
    `${CONTRACT}/src/payloads.ts`,
    BROWSER_MEMBERS,
    without('tenant_id'),
    PROOF,
  ],
  [
    'the proof of the browser leaves out the action',
    `${CONTRACT}/src/payloads.ts`,
    BROWSER_MEMBERS,
    without('action'),
    PROOF,
  ],
  [
    'the proof of the browser leaves out the workflow',
    `${CONTRACT}/src/payloads.ts`,
    BROWSER_MEMBERS,
    without('workflow'),
    PROOF,
  ],
  [
    'the proof of the browser leaves out the origin of the page',
    `${CONTRACT}/src/payloads.ts`,
    BROWSER_MEMBERS,
    without('origin'),
    PROOF,
  ],
  [
    'another commitment reads the session as proved',
    PROVE,
    'bonded !== undefined && keys.same(bonded, commitment)',
    'bonded?.length === commitment.length',
    PROOF,
  ],
  [
    'a phone that is blocked after its approval bonds',
    PROVE,
    'if (!usable.ok)\n',
    'if (!usable.ok && now < 0)\n',
    PROOF,
  ],
  [
    'an approval with old evidence bonds',
    PROVE,
    'if (now >= leg.evidenceUntil) {',
    'if (now < 0) {',
    PROOF,
  ],
  [
    'a proof with an unchanged counter bonds',
    PROVE,
    'if (!isCounted)',
    'if (!isCounted && now < 0)',
    PROOF,
  ],
  [
    'a browser fails as often as it likes',
    PROVE,
    'if (failures >= MAX_FAILED_BROWSER_PROOFS)',
    'if (failures > 10 * MAX_FAILED_BROWSER_PROOFS)',
    PROOF,
  ],
  [
    'proofs for an unusable phone are not counted',
    PROVE,
    'if (!usable.ok)\n    return yield* rejectAndCountProof(tables, attempt, { leg, step: usable.rejection.step })',
    "if (!usable.ok) return reject('browser_proof_invalid')",
    FAILURES,
  ],
  [
    'a proof of the browser makes a phone suspect',
    PROVE,
    'raiseCounter(device.id, counter, now)',
    'raiseCounter(device.id, counter, 0)',
    FAILURES,
  ],
  [
    'a phone that was added yesterday serves a workflow that requires the browser',
    `${CORE}/src/domain/phone-rules.ts`,
    'requiresBrowser(session.policy) && isNewlyAdded(device, now)',
    'requiresBrowser(session.policy) && device.createdAt > now',
    PROOF,
  ],
  [
    'a phone without a passkey serves a workflow that requires the browser',
    `${CORE}/src/domain/phone-rules.ts`,
    'requiresBrowser(session.policy) || isBrought ||',
    'requiresBrowser(session.policy) || !isBrought ||',
    PROOF,
  ],
  [
    'the phone’s signature leaves out its browser key',
    `${CONTRACT}/src/payloads.ts`,
    '...(browser_key !== undefined && { browser_key }),',
    '',
    BROWSER_KEY,
  ],
  [
    'the approval of a further phone leaves out its browser key',
    `${CORE}/src/operations/register-device.ts`,
    'approvalOf(service, caller, { approval, registration: signed })',
    'approvalOf(service, caller, { approval, registration })',
    BROWSER_KEY,
  ],
  [
    'the challenge of a browser key is accepted twice',
    `${CORE}/src/operations/browser-key.ts`,
    'if (!isChallengeUsed && !(yield* tables.devices.useChallenge(challenge, challengeExpiresAt)))',
    'if (!isChallengeUsed && challengeExpiresAt === 0)',
    BROWSER_KEY,
  ],
  [
    'a browser key has the id of another phone’s key',
    `${STORE}/src/tables/browser-key-columns.ts`,
    'and not exists (select 1 from device other where other.key_id = $2)',
    '',
    BROWSER_KEY,
  ],
  [
    'a browser key has the id of another browser key',
    `${STORE}/src/tables/browser-key-columns.ts`,
    'where other.browser_key_id = $2 and other.id <> $1)',
    'where other.browser_key_id = $2 and other.id = $1 and false)',
    BROWSER_KEY,
  ],
  [
    'a key that another one replaced in the cache verifies assertions',
    `${SERVER}/src/adapters/attestation/public-key-cache.ts`,
    'cached !== undefined && Buffer.compare(cached.publicKey, publicKey) === 0',
    'cached !== undefined',
    `${SERVER}/tests/adapters/attestation/public-key-cache.test.ts`,
  ],
  [
    'a browser key of any origin is registered',
    `${SERVER}/src/adapters/attestation/webauthn/browser-key-verifier.ts`,
    "if (step !== 'client_data_origin') break",
    "if (step !== 'client_data_origin') break\n        origins.add(String(JSON.parse(Buffer.from(clientDataJson).toString()).origin))",
    BROWSER_KEY,
  ],
  [
    'a removed browser key proves a browser',
    `${STORE}/src/tables/browser-key-columns.ts`,
    'where id = $1 and browser_key_id is not null`',
    'where id = $1 and browser_key_id is null`',
    BROWSER_KEY,
  ],
  [
    'the counter of a browser key may stand still',
    `${STORE}/src/tables/browser-key-columns.ts`,
    'browser_counter < $3 or',
    'browser_counter <= $3 or',
    BROWSER_KEY,
  ],
  [
    'the removal of a browser key is that of the phone',
    `${CONTRACT}/src/payloads.ts`,
    '...(purpose !== undefined && { purpose }),',
    '',
    BROWSER_KEY,
  ],
  [
    'a form of another browser reads the verification',
    `${CORE}/src/operations/session-view.ts`,
    'commitment !== undefined && secret !== undefined && keys.same(keys.sha256(secret), commitment)',
    'commitment !== undefined',
    PROOF,
  ],
  [
    'a form without the secret reads the verification',
    `${CORE}/src/operations/session-view.ts`,
    '!requiresBrowser(session.policy) ||',
    '!requiresBrowser(session.policy) || browserSecret === undefined ||',
    PROOF,
  ],
  [
    'a gate accepts the proof of another page',
    `${CONTRACT}/src/gate-checks.ts`,
    'expected.browser !== undefined && verification.browser?.origin !== expected.browser.origin',
    'expected.browser !== undefined && verification.browser === undefined',
    `${INTEGRATOR}/tests/verify.test.ts`,
  ],
  [
    'a gate that requires the browser accepts any user',
    `${INTEGRATOR}/src/verbs/browser-rule.ts`,
    'rule === undefined || rule.firstBond === true || subject_ref !== null',
    'rule === undefined || rule.origin.length > 0 || subject_ref !== null',
    `${INTEGRATOR}/tests/browser.test.ts`,
  ],
])
