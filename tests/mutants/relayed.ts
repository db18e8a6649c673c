import { against, CONTRACT, CORE, INTEGRATOR } from './against.ts'

const PROOF = `${CORE}/tests/operations/prove-browser.test.ts`
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
    'if (!(yield* tables.devices.raiseCounter(device.id, verified.value, now)))',
    'if (!(yield* tables.devices.raiseCounter(device.id, verified.value, now)) && now < 0)',
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
    'raiseCounter(device.id, verified.value, now)',
    'raiseCounter(device.id, verified.value, 0)',
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
    'a software key serves a workflow that requires the browser',
    `${CORE}/src/domain/policy.ts`,
    "if (require.includes('browser')) return ['webauthn']",
    '',
    PROOF,
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
    '!requiresBrowser(session.policy) || opensCommitment',
    '!requiresBrowser(session.policy) || browserSecret === undefined || opensCommitment',
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
