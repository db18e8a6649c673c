import type { Fault } from './child-adapter.ts'

export interface Planted extends Fault {
  /** The kind was chosen before its place in the code. */
  readonly kind: string
  /** What a failure must say, of the rule or of what was seen. */
  readonly found: RegExp
}

const SESSION = 'phone/src/session'
const RECEIPT = 'integrator/src/receipt'

/** Faults of the product's own phone. */
export const OF_PHONE: readonly Planted[] = [
  {
    kind: 'trusts the origin that a view names',
    file: `${SESSION}/claimed-session.ts`,
    from: 'session.api_base_url !== phone.origin',
    to: 'false',
    found: /4: a phone stops at a view whose api_base_url/,
  },
  {
    kind: 'opens a link of another origin',
    file: 'phone/src/phone.ts',
    from: 'originOf(handoff, phone.origin) !== phone.origin',
    to: 'false',
    found: /4: a phone opens no link of another origin/,
  },
  {
    kind: 'accepts a view of another session',
    file: `${SESSION}/claimed-session.ts`,
    from: 'session.id !== session_id',
    to: 'false',
    found: /4: a phone stops at a view of another session/,
  },
  {
    kind: 'accepts another nonce than the claimed one',
    file: `${SESSION}/claimed-session.ts`,
    from: 'session.nonce !== own.claimed_nonce',
    to: 'false',
    found: /4: a phone stops at a pending view with another nonce/,
  },
  {
    kind: 'accepts an unknown state',
    file: 'phone/src/service/read-response.ts',
    from: '!SESSION_STATES.includes(session.state)',
    to: 'false',
    found: /4: a phone stops at a state that it does not know/,
  },
  {
    kind: 'goes on at a step-up that it does not know',
    file: `${SESSION}/step-up.ts`,
    from: 'if (unknown !== undefined)',
    to: 'if (false)',
    found: /1: a phone stops at a step-up that it does not know/,
  },
  {
    kind: 'answers a step-up with the nonce before it',
    file: `${SESSION}/attest.ts`,
    from: '    nonce: session.nonce,',
    to: '    nonce: claimed.claimed_nonce,',
    found: /4: the nonce of attest is not the last one/,
  },
  {
    kind: 'signs no hash of the context',
    file: `${SESSION}/attest.ts`,
    from: 'context: session.context === null ? null : await hashOf(phone.sha256, session.context),',
    to: 'context: null,',
    found: /5: attest: client_data_hash is not of the payload/,
  },
  {
    kind: 'relays evidence without the members that it does not know',
    file: 'phone/src/service/read-response.ts',
    from: 'return read(EvidenceResponse, body).verified_evidence',
    to: `const { issued_at, expires_at, kid, local_auth, carrier, sensor_continuity, signature } =
      read(EvidenceResponse, body).verified_evidence
    return { issued_at, expires_at, kid, local_auth, carrier, sensor_continuity, signature }`,
    found: /1: verified_evidence is not relayed with every member/,
  },
  {
    kind: 'repeats a counter',
    file: 'simulator/src/enrollment.ts',
    from: 'counter: now.counter + 1',
    to: 'counter: Math.max(1, now.counter)',
    found: /5: attest: the counter 1 follows 1/,
  },
  {
    kind: 'signs the time of day of its own clock',
    file: 'phone/src/server-time.ts',
    from: 'Math.floor(time.server_ms + (atMs - time.read_at_ms))',
    to: 'Date.now()',
    found: /1: issued_at of attest is not server_time/,
  },
  {
    kind: 'orders members by code points',
    file: 'contract/src/json/canonical.ts',
    from: '    .sort()',
    to: '    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))',
    found: /1: a phone relays evidence with members that it does not know, and hashes all of it/,
  },
  {
    kind: 'sends another reason of a decline than the user’s',
    file: `${SESSION}/decline.ts`,
    from: 'device_id: device.device_id, reason, note })',
    to: "device_id: device.device_id, reason: 'user_declined', note })",
    found: /4: a decline says that the user did not start the request/,
  },
  {
    kind: 'repeats a request that must be signed again',
    file: 'phone/src/service/call.ts',
    from: "if (route.retry === 'rebuild' && isUsedUp) text = undefined",
    to: '',
    found: /8: after a lost response, a phone signs its evidence again/,
  },
  {
    kind: 'does not say that it shows the rule of a quorum',
    file: `${SESSION}/attest.ts`,
    from: '...(shows.length > 0 && { shows }),',
    to: '',
    found: /16: a phone that shows the rule of a quorum.*has not the word quorum/,
  },
  {
    kind: 'signs another rule of a quorum than its user saw',
    file: `${SESSION}/claimed-session.ts`,
    from: 'before && canonicalJson(session[name]) !== canonicalJson(before[name])',
    to: 'false',
    found: /16: a phone stops at a step-up with another rule/,
  },
]

/** Faults of the product's own verifier of receipts. */
export const OF_VERIFIER: readonly Planted[] = [
  {
    kind: 'does not verify the signature of the service',
    file: `${RECEIPT}/verify-receipt.ts`,
    from: "!(await crypto.subtle.verify('Ed25519', key, bytes, signed))",
    to: 'false',
    found: /13: the service signed the receipt/,
  },
  {
    kind: 'accepts a JWS of another type',
    file: `${RECEIPT}/verify-receipt.ts`,
    from: ' || head.typ !== RECEIPT_TYPE',
    to: '',
    found: /receipts \d+, another type: invalid/,
  },
  {
    kind: 'does not compare a member of P with its claim',
    file: `${RECEIPT}/verify-receipt.ts`,
    from: '    workflow: claims.workflow,\n',
    to: '',
    found: /13: P equals the claims/,
  },
  {
    kind: 'does not compare the context with its hash',
    file: `${RECEIPT}/verify-receipt.ts`,
    from: "return payload?.context === shown ? undefined : 'context_mismatch'",
    to: 'return undefined',
    found: /13: the context equals its hash in P/,
  },
  {
    kind: 'verifies the phone’s signature by the rules of another format',
    file: `${RECEIPT}/phone-signature.ts`,
    from: "phone.format === 'apple-app-attest' ? await sha256(joined) : joined",
    to: 'joined',
    found: /the format apple-app-attest/,
  },
  {
    kind: 'accepts a proof that does not cover the receipt',
    file: `${RECEIPT}/verify-log.ts`,
    from: 'root !== undefined && same(root, checkpoint.root)',
    to: 'root !== undefined',
    found: /13: the log has the receipt/,
  },
  {
    kind: 'counts one user twice',
    file: `${RECEIPT}/verify-quorum.ts`,
    from: 'Math.min(new Set(users).size, new Set(keys).size)',
    to: 'new Set(keys).size',
    found: /quorums \d+, one user with two phones: invalid/,
  },
  {
    kind: 'does not compare the rules of a quorum',
    file: `${RECEIPT}/verify-quorum.ts`,
    from: 'new Set(all.map(approvedText)).size > 1',
    to: 'false',
    found: /quorums \d+, the second has a larger needed: invalid/,
  },
]
