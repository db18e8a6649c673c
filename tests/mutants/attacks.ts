import { against, INTEGRATOR, SERVICE } from './against.ts'
import { FORGED } from './forged.ts'
import type { Mutant } from './mutant.ts'

const REPLAYED = against('replayed', [
  [
    'a signed request of a device is accepted twice',
    `${SERVICE}/src/operations/device-request.ts`,
    'if (yield* tables.devices.useRequest(device.id, counter, issuedAt)) return accept(device)',
    'yield* tables.devices.useRequest(device.id, counter, issuedAt)\n  if (issuedAt > 0) return accept(device)',
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
    'a challenge recovers a device twice',
    `${SERVICE}/src/operations/recover-device.ts`,
    "if (!(yield* tables.devices.useChallenge(challenge, expiresAt))) return fail('challenge')",
    'yield* tables.devices.useChallenge(challenge, expiresAt)',
    `${SERVICE}/tests/operations/recover-device.test.ts`,
  ],
  [
    'a blocked or suspect device is recovered',
    `${SERVICE}/src/operations/recover-device.ts`,
    "if (!mayManageKeys(device)) return fail('device_state')",
    '',
    `${SERVICE}/tests/operations/recover-device.test.ts`,
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
    `${SERVICE}/src/adapters/sql/idempotency-hash.ts`,
    'tenantId}',
    'tenantId.slice(0, 0)}',
    `${SERVICE}/tests/operations/create-session.test.ts`,
  ],
  [
    'an id finds any session with its primary key',
    `${SERVICE}/src/adapters/sql/session-table.ts`,
    'select * from session where session_key = $1 and id = $2',
    'select * from session where session_key = $1 and id <> $2 or session_key = $1',
    `${SERVICE}/tests/adapters/sql/session-ids.test.ts`,
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
    `${SERVICE}/tests/operations/attest-rules.test.ts`,
  ],
  [
    'a session for one user accepts the phone of another',
    `${SERVICE}/src/domain/phone-rules.ts`,
    'session.wantedSubjectRef !== null && session.wantedSubjectRef !== subjectRef',
    'session.subjectRef !== null && session.wantedSubjectRef !== subjectRef',
    `${SERVICE}/tests/operations/attest-rules.test.ts`,
  ],
])

const LEAKED = against('leaked', [
  [
    'a response contains members outside its schema',
    `${SERVICE}/src/http/serve.ts`,
    'compiled ??= fastJsonStringify(plain(schema))',
    'compiled ??= (schema && JSON.stringify) as Serialize',
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
    `${SERVICE}/tests/operations/attest-rules.test.ts`,
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
    `${SERVICE}/tests/operations/attest-rules.test.ts`,
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
    'on conflict (key_hash) do nothing',
    'on conflict (key_hash) do update set session_id = excluded.session_id',
    `${SERVICE}/tests/operations/create-session.test.ts`,
  ],
  [
    'a session replaces another one with its primary key',
    `${SERVICE}/src/adapters/sql/session-table.ts`,
    'on conflict (session_key) do nothing',
    'on conflict (session_key) do update set id = excluded.id',
    `${SERVICE}/tests/adapters/sql/session-ids.test.ts`,
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
    'and id = $2 and seq = $3 and',
    'and id = $2 and seq >= $3 and',
    `${SERVICE}/tests/adapters/sql/sqlite-store.test.ts`,
  ],
  [
    'a move ignores an assertion that came between',
    `${SERVICE}/src/adapters/sql/session-table.ts`,
    'and valid_assertions = $4`',
    'and valid_assertions <= $4`',
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
