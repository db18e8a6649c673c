import type { Attack, Mutant } from './mutant.ts'

/**
 * The mutants of one attack. A row is name, file, text, replacement, and the tests that must fail.
 */
function against(attack: Attack, rows: readonly Row[]): readonly Mutant[] {
  return rows.map(([name, file, find, replace, ...tests]) => ({
    attack,
    name,
    file,
    find,
    replace,
    tests,
  }))
}

type Row = readonly [name: string, file: string, find: string, replace: string, ...tests: string[]]

const [ATTESTATION, CONTRACT, INTEGRATOR, SERVICE] = [
  'packages/attestation',
  'packages/contract',
  'packages/integrator',
  'packages/service',
]

const FORGED = against('forged', [
  [
    'a certificate that its issuer did not sign is accepted',
    `${ATTESTATION}/src/x509/issuance.ts`,
    "return isSignedBy(certificate, key) ? undefined : 'signature'",
    "return key.type === 'public' ? undefined : 'signature'",
    `${ATTESTATION}/tests/webauthn/certificate-path.test.ts`,
  ],
  [
    'the key of a phone issues certificates',
    `${ATTESTATION}/src/x509/issuance.ts`,
    'isAuthority(issuer) ? pathLengthOf(issuer) : undefined',
    'pathLengthOf(issuer) ?? Number.POSITIVE_INFINITY',
    `${ATTESTATION}/tests/webauthn/certificate-path.test.ts`,
  ],
  [
    'an App Attest statement for another challenge is accepted',
    `${ATTESTATION}/src/apple/verify-attestation.ts`,
    "if (nonceOf(chain.leaf)?.equals(nonce) !== true) return fail('nonce')",
    "if (nonceOf(chain.leaf)?.length !== nonce.length) return fail('nonce')",
    `${ATTESTATION}/tests/apple/verify-attestation.test.ts`,
  ],
  [
    'a passkey assertion for another relying party is accepted',
    `${ATTESTATION}/src/webauthn/verify-assertion.ts`,
    "if (!hash('sha256', rpId, 'buffer').equals(data.rpIdHash)) return fail('app_id')",
    '',
    `${ATTESTATION}/tests/webauthn/verify-assertion.test.ts`,
  ],
  [
    'the secret of a device token is not compared',
    `${SERVICE}/src/operations/authenticate.ts`,
    'found === undefined || !service.keys.same(service.keys.digest(token), found.token.hash)',
    'found === undefined || !found.token.hash',
    `${SERVICE}/tests/http/credentials.test.ts`,
  ],
  [
    'a stolen device token adds and removes keys without an assertion',
    `${SERVICE}/src/operations/device-request.ts`,
    'return verified.ok ? accept(verified.value.counter) : verified',
    'return accept(verified.ok ? verified.value.counter : device.counter + 1)',
    `${SERVICE}/tests/operations/subject-keys.test.ts`,
    `${SERVICE}/tests/operations/rotate-device-token.test.ts`,
  ],
  [
    'any watch token of the right length reads',
    `${SERVICE}/src/operations/find-session.ts`,
    'watchToken !== undefined && service.keys.same(token, watchToken)',
    'watchToken !== undefined && token.length === watchToken.length',
    `${SERVICE}/tests/http/credential-matrix.test.ts`,
    `${SERVICE}/tests/channel/channel.test.ts`,
  ],
  [
    'the service accepts evidence with any signature',
    `${SERVICE}/src/operations/attest.ts`,
    'if (!mac || !service.keys.same(mac, evidence.signature))',
    'if (!mac || !evidence.signature)',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'the secret of a server credential is not compared',
    `${SERVICE}/src/operations/authenticate.ts`,
    'credential === undefined || !service.keys.same(service.keys.digest(token), credential.hash)',
    'credential === undefined || !service.keys.same(service.keys.digest(token), service.keys.digest(token))',
    `${SERVICE}/tests/http/credentials.test.ts`,
  ],
  [
    'any completion secret of the right length completes',
    `${SERVICE}/src/operations/complete-session.ts`,
    'if (!service.keys.same(secret, input.completionSecret))',
    'if (secret.length !== input.completionSecret.length)',
    `${SERVICE}/tests/operations/create-session.test.ts`,
  ],
  [
    'two secrets of one length are equal',
    `${SERVICE}/src/adapters/keys/keyring.ts`,
    'left.length === right.length && timingSafeEqual(left, right)',
    'left.length === right.length && timingSafeEqual(left, left)',
    `${SERVICE}/tests/adapters/keys/keyring.test.ts`,
  ],
  [
    'the signed payload leaves out the context',
    `${CONTRACT}/src/payloads.ts`,
    '    action,\n    context,\n    device_id,',
    '    action,\n    device_id,',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'the signed payload leaves out the tenant',
    `${CONTRACT}/src/payloads.ts`,
    '    tenant_id,\n    typ:',
    '    typ:',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'the signed payload leaves out the time',
    `${CONTRACT}/src/payloads.ts`,
    '    evidence,\n    issued_at,\n    nonce,',
    '    evidence,\n    nonce,',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'an unknown publishable key is accepted',
    `${SERVICE}/src/operations/create-session.ts`,
    'if (key?.tenant.id !== tenant.id || isRevoked(key, service.clock.now()))',
    'if (key !== undefined && (key.tenant.id !== tenant.id || isRevoked(key, service.clock.now())))',
    `${SERVICE}/tests/operations/create-session.test.ts`,
  ],
  [
    'a body with a duplicate member is accepted',
    `${CONTRACT}/src/json/strict.ts`,
    'found.members !== countMembers(value)',
    'found.members < countMembers(value)',
    `${CONTRACT}/tests/strict-json.test.ts`,
  ],
  [
    'an address behind an untrusted proxy is believed',
    `${SERVICE}/src/http/client-address.ts`,
    'return hop < trusted',
    'return hop <= trusted',
    `${SERVICE}/tests/http/client-address.test.ts`,
  ],
  [
    'a webhook signature leaves out the id',
    `${INTEGRATOR}/src/webhook/signature.ts`,
    '`${id}.${timestamp}.`',
    '`${id.slice(0, 4)}.${timestamp}.`',
    `${INTEGRATOR}/tests/webhook.test.ts`,
  ],
  [
    'one bit of a webhook signature is not compared',
    `${INTEGRATOR}/src/webhook/signature.ts`,
    'difference |= byte ^ (other[at] ?? 0)',
    'difference |= (byte ^ (other[at] ?? 0)) & 0xfe',
    `${INTEGRATOR}/tests/webhook.test.ts`,
  ],
])

const REPLAYED = against('replayed', [
  [
    'a signed request of a device is accepted twice',
    `${SERVICE}/src/operations/device-request.ts`,
    'if (yield* tables.devices.useRequest(device.id, judged.value, issuedAt)) return accept(device)',
    'yield* tables.devices.useRequest(device.id, judged.value, issuedAt)\n  if (issuedAt > 0) return accept(device)',
    `${SERVICE}/tests/operations/subject-keys.test.ts`,
    `${SERVICE}/tests/operations/rotate-device-token.test.ts`,
  ],
  [
    'an assertion with an unchanged counter is accepted',
    `${SERVICE}/src/adapters/sql/device-table.ts`,
    "where id = $1 and (counter < $2 or (format = 'webauthn' and counter = 0 and $2 = 0)) and",
    "where id = $1 and (counter <= $2 or (format = 'webauthn' and counter = 0 and $2 = 0)) and",
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'the token of a removed device is accepted',
    `${SERVICE}/src/operations/authenticate.ts`,
    "if (device.status === 'removed') return",
    "if (device.status === 'blocked') return",
    `${SERVICE}/tests/operations/register-device.test.ts`,
  ],
  [
    'a replaced device token is accepted',
    `${SERVICE}/src/operations/authenticate.ts`,
    'if (offered && !(await beginToken(service, device.id, tokenId)))',
    'if (offered && device.id === undefined)',
    `${SERVICE}/tests/operations/rotate-device-token.test.ts`,
  ],
  [
    'an expired device token is accepted',
    `${SERVICE}/src/operations/authenticate.ts`,
    'if (!valid && !acceptsExpired) return',
    'if (!valid && acceptsExpired) return',
    `${SERVICE}/tests/operations/device-token-expiry.test.ts`,
  ],
  [
    'an evidence request is accepted twice',
    `${SERVICE}/src/operations/fetch-evidence.ts`,
    'if (!counted.ok) return counted',
    '',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'a registration challenge is accepted twice',
    `${SERVICE}/src/adapters/sql/device-table.ts`,
    'return used !== undefined',
    'return used !== null',
    `${SERVICE}/tests/operations/register-device.test.ts`,
  ],
  [
    'a nonce is accepted in a third window',
    `${SERVICE}/src/domain/challenge.ts`,
    'const candidates = index > 0 ? [index, index - 1] : [index]',
    'const candidates = [index, index - 1, index - 2]',
    `${SERVICE}/tests/operations/challenge.test.ts`,
  ],
  [
    'an assertion may come from far in the future',
    `${SERVICE}/src/domain/phone-rules.ts`,
    'issuedAt <= now + ISSUED_AT_MAX_AHEAD_MS',
    'issuedAt <= now + ISSUED_AT_MAX_AGE_MS',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'evidence is accepted when it has expired',
    `${SERVICE}/src/domain/evidence.ts`,
    'now < expiresAt &&',
    'now <= expiresAt &&',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'a revoked server credential is accepted',
    `${SERVICE}/src/operations/authenticate.ts`,
    "if (isRevoked(credential, service.clock.now())) return refuse('credential_invalid')",
    '',
    `${SERVICE}/tests/http/credentials.test.ts`,
  ],
  [
    'a revoked publishable key is accepted',
    `${SERVICE}/src/operations/authenticate.ts`,
    'if (key === undefined || isRevoked(key, service.clock.now()))',
    'if (key === undefined)',
    `${SERVICE}/tests/http/credentials.test.ts`,
  ],
  [
    'an old webhook is accepted',
    `${INTEGRATOR}/src/webhook/verify-webhook.ts`,
    'Math.abs(clock.now() - sentAtMs) > TOLERANCE_MS',
    'sentAtMs - clock.now() > TOLERANCE_MS',
    `${INTEGRATOR}/tests/webhook.test.ts`,
  ],
])

const CROSS_TENANT = against('cross-tenant', [
  [
    'another tenant reads a session, and its timeline',
    `${SERVICE}/src/operations/find-session.ts`,
    'return session.tenantId === tenant.id && inScope(',
    'return tenant.id !== undefined && inScope(',
    `${SERVICE}/tests/http/credential-matrix.test.ts`,
  ],
  [
    'a credential reads sessions outside its scope',
    `${SERVICE}/src/operations/find-session.ts`,
    'return session.tenantId === tenant.id && inScope(scope, session.workflow, session.action)',
    'return session.tenantId === tenant.id && scope !== undefined',
    `${SERVICE}/tests/http/key-scope.test.ts`,
  ],
  [
    'a backend attests for a session of another tenant',
    `${SERVICE}/src/operations/attest.ts`,
    "if (!own.ok) return refuse('session_not_live')",
    '',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'a page of any origin opens a channel without a key',
    `${SERVICE}/src/operations/authenticate.ts`,
    "if (key === undefined) return refuse('credential_missing', { param: 'Sec-WebSocket-Protocol' })",
    'if (key === undefined) return accept(null)',
    `${SERVICE}/tests/channel/browser-key.test.ts`,
  ],
  [
    'a server credential is accepted from any origin',
    `${SERVICE}/src/operations/authenticate.ts`,
    'origin !== undefined && (ownOriginOnly || !allowsOrigin(credential.tenant, origin))',
    "origin === 'null' && (ownOriginOnly || !allowsOrigin(credential.tenant, origin))",
    `${SERVICE}/tests/http/credential-matrix.test.ts`,
  ],
  [
    'an idempotency key is looked up in every tenant',
    `${SERVICE}/src/adapters/sql/idempotency-table.ts`,
    'select * from idempotency where tenant_id = $1 and idempotency_key = $2',
    'select * from idempotency where tenant_id <> $1 and idempotency_key = $2 or tenant_id = $1 and idempotency_key = $2',
    `${SERVICE}/tests/operations/create-session.test.ts`,
  ],
  [
    'two tenants get the same reference to a user',
    `${SERVICE}/src/adapters/keys/keyring.ts`,
    '`${tenantId}\\n${subjectId}`',
    '`${subjectId}`',
    `${SERVICE}/tests/adapters/keys/keyring.test.ts`,
  ],
  [
    'an origin that begins like an allowed one is allowed',
    `${SERVICE}/src/domain/tenant.ts`,
    'return tenant.origins.includes(origin)',
    'return tenant.origins.some((allowed) => origin.startsWith(allowed))',
    `${SERVICE}/tests/http/credential-matrix.test.ts`,
  ],
  [
    'a production tenant accepts a sandbox device',
    `${SERVICE}/src/domain/phone-rules.ts`,
    "tenant.environment === 'production' && device.environment === 'sandbox'",
    "tenant.environment === 'sandbox' && device.environment === 'production'",
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'a session for one user accepts the phone of another',
    `${SERVICE}/src/domain/phone-rules.ts`,
    'session.wantedSubjectRef !== null && session.wantedSubjectRef !== subjectRef',
    'session.subjectRef !== null && session.wantedSubjectRef !== subjectRef',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
])

const LEAKED = against('leaked', [
  [
    'a response contains members outside its schema',
    `${SERVICE}/src/http/serve.ts`,
    'made ??= fastJsonStringify(plain(schema))',
    'made ??= (schema && JSON.stringify) as Serialise',
    `${SERVICE}/tests/http/serializer.test.ts`,
  ],
  [
    'the page sees the verification',
    `${SERVICE}/src/http/present.ts`,
    '    verification: null,\n    watch_token',
    '    verification: session.verification,\n    watch_token',
    `${SERVICE}/tests/channel/channel.test.ts`,
  ],
  [
    'a phone that has not claimed the session gets the watch token',
    `${SERVICE}/src/http/present.ts`,
    '...(pinned ? { watch_token: watchToken(service, session) } : {})',
    '...{ watch_token: watchToken(service, session) }',
    `${SERVICE}/tests/http/credential-matrix.test.ts`,
  ],
  [
    'the backend reads the user before the bond',
    `${SERVICE}/src/http/present.ts`,
    'subject_ref: proved ? session.subjectRef : null',
    'subject_ref: session.subjectRef ?? session.wantedSubjectRef',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'a killed session shows its verification',
    `${SERVICE}/src/http/present.ts`,
    'verification: proved ? session.verification : null,\n    context',
    'verification: session.verification,\n    context',
    `${SERVICE}/tests/operations/states.test.ts`,
  ],
  [
    'a rejection names the exact check',
    `${SERVICE}/src/http/refusal-to-wire.ts`,
    '...(refusal.param === undefined ? {} : { param: refusal.param })',
    '...(refusal.param === undefined ? { param: refusal.step as string } : { param: refusal.param })',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'any phone reads a claimed session',
    `${SERVICE}/src/operations/read-session.ts`,
    'if (session.deviceId !== null && session.deviceId !== device.id) return notFound',
    'if (session.deviceId === null && session.claimedNonce !== null) return notFound',
    `${SERVICE}/tests/operations/attest.test.ts`,
  ],
  [
    'the watch token is derived like the completion secret',
    `${SERVICE}/src/adapters/keys/keyring.ts`,
    "`bwt_${textMac(keyId, 'watch', sessionId)}`",
    "`bwt_${textMac(keyId, 'completion', sessionId)}`",
    `${SERVICE}/tests/adapters/keys/keyring.test.ts`,
  ],
])

const DOUBLED = against('doubled', [
  [
    'a second request takes over an idempotency key',
    `${SERVICE}/src/adapters/sql/idempotency-table.ts`,
    'on conflict (tenant_id, idempotency_key) do nothing returning session_id',
    'on conflict (tenant_id, idempotency_key) do update set session_id = excluded.session_id returning session_id',
    `${SERVICE}/tests/operations/create-session.test.ts`,
  ],
  [
    'a second phone claims a claimed session',
    `${SERVICE}/src/domain/changes.ts`,
    '(session.deviceId !== null && session.deviceId !== deviceId)',
    '(session.claimedNonce === nonce && session.deviceId === deviceId)',
    `${SERVICE}/tests/adapters/sql/sqlite-store.test.ts`,
  ],
])

const RACED = against('raced', [
  [
    'a move is made from an outdated row',
    `${SERVICE}/src/adapters/sql/session-table.ts`,
    'where id = $1 and seq = $2 and',
    'where id = $1 and seq >= $2 and',
    `${SERVICE}/tests/adapters/sql/sqlite-store.test.ts`,
  ],
  [
    'a move ignores an assertion that came between',
    `${SERVICE}/src/adapters/sql/session-table.ts`,
    'and valid_assertions = $3`',
    'and valid_assertions <= $3`',
    `${SERVICE}/tests/adapters/sql/sqlite-store.test.ts`,
  ],
  [
    'a write resolves before its commit',
    `${SERVICE}/src/adapters/sql/sqlite-store.ts`,
    'for (const unit of units) unit.run()',
    'for (const unit of units) {\n        unit.run()\n        unit.done()\n      }',
    `${SERVICE}/tests/adapters/sql/sqlite-store.test.ts`,
  ],
])

/** Mistakes that each open one attack. */
export const MUTANTS: readonly Mutant[] = [
  ...FORGED,
  ...REPLAYED,
  ...CROSS_TENANT,
  ...LEAKED,
  ...DOUBLED,
  ...RACED,
]
