import { APPROVAL_MUTANTS } from './approvals.ts'
import { against, CORE, INTEGRATOR, SERVER, STORE } from './against.ts'
import { AUDIT_MUTANTS } from './audit.ts'
import { CIBA_MUTANTS } from './ciba.ts'
import { FORGED } from './forged.ts'
import { INBOX } from './inbox.ts'
import type { Mutant } from './mutant.ts'
import { QUORUM_MUTANTS } from './quorum.ts'
import { RECEIPT_MUTANTS } from './receipts.ts'
import { RELAYED } from './relayed.ts'
import { WEBHOOKS } from './webhooks.ts'

const REPLAYED = against('replayed', [
  [
    'a signed request of a device is accepted twice',
    `${CORE}/src/operations/device/device-request.ts`,
    'tables.devices.useRequest(device.id, counter, issuedAt),',
    '(function* () {\n      return (yield* tables.devices.useRequest(device.id, counter, issuedAt)) || true\n    })(),',
    `${SERVER}/tests/api/rotate-device-token.test.ts`,
    'accepts a token request once, near its time',
  ],
  [
    'an assertion with an unchanged counter is accepted',
    `${STORE}/src/tables/device-table.ts`,
    "where id = $1 and (counter < $2 or (format = 'webauthn' and counter = 0 and $2 = 0)) and",
    "where id = $1 and (counter <= $2 or (format = 'webauthn' and counter = 0 and $2 = 0)) and",
    `${SERVER}/tests/api/attest.test.ts`,
  ],
  [
    'the token of a removed device is accepted',
    `${CORE}/src/operations/authenticate.ts`,
    "if (device.status === 'removed') return",
    "if (device.status === 'blocked') return",
    `${SERVER}/tests/api/register-device.test.ts`,
  ],
  [
    'a replaced device token is accepted',
    `${CORE}/src/operations/authenticate.ts`,
    'if (offered && !(await beginToken(service, device.id, tokenId)))',
    'if (offered && device.id === undefined)',
    `${SERVER}/tests/api/rotate-device-token.test.ts`,
  ],
  [
    'an expired device token is accepted',
    `${CORE}/src/operations/authenticate.ts`,
    'if (!valid && !acceptsExpired) return',
    'if (!valid && acceptsExpired) return',
    `${SERVER}/tests/api/device-token-expiry.test.ts`,
  ],
  [
    'an evidence request is accepted twice',
    `${CORE}/src/operations/phone/fetch-evidence.ts`,
    'tables.devices.raiseCounter(device.id, counter, issuedAt),',
    '(function* () {\n      return (yield* tables.devices.raiseCounter(device.id, counter, issuedAt)) || true\n    })(),',
    `${SERVER}/tests/api/attest.test.ts`,
  ],
  [
    'a registration challenge is accepted twice',
    `${STORE}/src/tables/device-table.ts`,
    'return used !== undefined',
    'return used !== null',
    `${SERVER}/tests/api/register-device.test.ts`,
  ],
  [
    'a challenge recovers a device twice',
    `${CORE}/src/operations/device/recover-device.ts`,
    'useChallenge: () => tables?.devices.useChallenge(challenge, expiresAt) ?? true,',
    'useChallenge: () => true,',
    `${SERVER}/tests/api/recover-device.test.ts`,
    'rejects a challenge that is used',
  ],
  [
    'a nonce is accepted in a third window',
    `${CORE}/src/domain/challenge.ts`,
    'const candidates = index > 0 ? [index, index - 1] : [index]',
    'const candidates = [index, index - 1, index - 2]',
    `${SERVER}/tests/api/challenge.test.ts`,
  ],
  [
    'an assertion may come from far in the future',
    `${CORE}/src/protocol/checks.ts`,
    'issuedAt <= now + ISSUED_AT_MAX_AHEAD_MS',
    'issuedAt <= now + ISSUED_AT_MAX_AGE_MS',
    `${SERVER}/tests/api/attest.test.ts`,
  ],
  [
    'evidence is accepted when it has expired',
    `${CORE}/src/domain/evidence.ts`,
    'now < expiresAt &&',
    'now <= expiresAt &&',
    `${SERVER}/tests/api/attest.test.ts`,
  ],
  [
    'a revoked server credential is accepted',
    `${CORE}/src/operations/authenticate.ts`,
    "if (isRevoked(credential, service.clock.now())) return reject('credential_invalid')",
    '',
    `${SERVER}/tests/http/credentials.test.ts`,
  ],
  [
    'a revoked publishable key is accepted',
    `${CORE}/src/operations/authenticate.ts`,
    'if (key === undefined || isRevoked(key, service.clock.now()))',
    'if (key === undefined)',
    `${SERVER}/tests/http/credentials.test.ts`,
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
    'a suspended tenant creates sessions',
    `${CORE}/src/operations/session/create-session.ts`,
    'if (tenant.suspendedAt !== undefined) return',
    'if (tenant.suspendedAt === 0) return',
    `${SERVER}/tests/api/admin/suspend-tenant.test.ts`,
  ],
  [
    'the suspension of a tenant ends sessions of another one',
    `${STORE}/src/tables/session-table.ts`,
    'and tenant_id = $1 and state in (${states})',
    'and tenant_id >= substr($1, 1, 1) and state in (${states})',
    `${SERVER}/tests/api/admin/suspend-tenant.test.ts`,
  ],
  [
    'another tenant reads a session, and its timeline',
    `${CORE}/src/operations/session/find-and-expire.ts`,
    'return tenantId === tenant.id && inScope(',
    'return tenant.id !== undefined && inScope(',
    `${SERVER}/tests/http/credential-matrix.test.ts`,
  ],
  [
    'a credential reads sessions outside its scope',
    `${CORE}/src/operations/session/find-and-expire.ts`,
    'return tenantId === tenant.id && inScope(scope, workflow, action)',
    'return tenantId === tenant.id && scope !== undefined',
    `${SERVER}/tests/http/key-scope.test.ts`,
  ],
  [
    'a backend attests for a session of another tenant',
    `${CORE}/src/operations/phone/attest.ts`,
    "if (!own.ok) return reject('session_not_live')",
    '',
    `${SERVER}/tests/api/attest.test.ts`,
  ],
  [
    'a page of any origin opens a channel without a key',
    `${CORE}/src/operations/session/watch-session.ts`,
    'caller !== null && !allowsOrigin(tenant, caller.origin)',
    'caller?.key && !allowsOrigin(tenant, caller.origin)',
    `${SERVER}/tests/channel/browser-key.test.ts`,
  ],
  [
    'a server credential is accepted from any origin',
    `${CORE}/src/operations/authenticate.ts`,
    'origin !== undefined && (ownOriginOnly || !allowsOrigin(credential.tenant, origin))',
    "origin === 'null' && (ownOriginOnly || !allowsOrigin(credential.tenant, origin))",
    `${SERVER}/tests/http/credential-matrix.test.ts`,
  ],
  [
    'an idempotency key is looked up in every tenant',
    `${STORE}/src/tables/idempotency-hash.ts`,
    'tenantId}',
    'tenantId.slice(0, 0)}',
    `${SERVER}/tests/api/create-session.test.ts`,
  ],
  [
    'an id finds any session with its primary key',
    `${STORE}/src/tables/session-table.ts`,
    'select * from session where session_key = $1 and id = $2',
    'select * from session where session_key = $1 and id <> $2 or session_key = $1',
    `${SERVER}/tests/storage/tables/session-ids.test.ts`,
  ],
  [
    'two tenants get the same reference to a user',
    `${CORE}/src/ports/derived-keys.ts`,
    '`${tenantId}\\n${subjectId}`',
    '`${subjectId}`',
    `${SERVER}/tests/adapters/keys/keyring.test.ts`,
  ],
  [
    'an origin that begins like an allowed one is allowed',
    `${CORE}/src/domain/tenant.ts`,
    'return tenant.origins.includes(origin)',
    'return tenant.origins.some((allowed) => origin.startsWith(allowed))',
    `${SERVER}/tests/http/credential-matrix.test.ts`,
  ],
])

const LEAKED = against('leaked', [
  [
    'a phone without a code learns that a tenant is suspended',
    `${CORE}/src/protocol/checks.ts`,
    '(f) => isSuspended(f) && f.isLatestNonce()',
    '(f) => isSuspended(f)',
    `${SERVER}/tests/api/admin/suspend-tenant.test.ts`,
  ],
  [
    'a response contains members outside its schema',
    `${SERVER}/src/http/serve.ts`,
    'compiled ??= fastJsonStringify(plain(schema))',
    'compiled ??= (schema && JSON.stringify) as Serialize',
    `${SERVER}/tests/http/serializer.test.ts`,
  ],
  [
    'the page sees the verification',
    `${SERVER}/src/http/response/present.ts`,
    '    verification: null,\n    watch_token',
    '    verification: session.verification,\n    watch_token',
    `${SERVER}/tests/channel/channel.test.ts`,
  ],
  [
    'a phone that has not claimed the session gets the watch token',
    `${CORE}/src/operations/session/session-view.ts`,
    'const watchToken = session.deviceId === device.id ? watchTokenOf(service, session) : undefined',
    'const watchToken = watchTokenOf(service, session)',
    `${SERVER}/tests/http/credential-matrix.test.ts`,
    'returns exactly the members of protocol 3',
  ],
  [
    'a phone that does not show a text approves it',
    `${CORE}/src/protocol/checks.ts`,
    '(f) => unshown(f).length > 0',
    '() => false',
    `${SERVER}/tests/api/requester-and-text.test.ts`,
  ],
  [
    'a requester takes the name of another tenant',
    `${CORE}/src/operations/tenant/tenant-names.ts`,
    'isOwn: tenants.has(id)',
    'isOwn: true',
    `${SERVER}/tests/api/requester-and-text.test.ts`,
    'rejects a requester that looks like another tenant, and accepts the own name',
  ],
  [
    'the backend reads the user before the bond',
    `${SERVER}/src/http/response/present.ts`,
    'subject_ref: proved ? session.subjectRef : null',
    'subject_ref: session.subjectRef ?? session.wantedSubjectRef',
    `${SERVER}/tests/api/attest-rules.test.ts`,
  ],
  [
    'a killed session shows its verification',
    `${SERVER}/src/http/response/present.ts`,
    'proved && isUsable ? session.verification : null',
    'session.verification',
    `${SERVER}/tests/api/states.test.ts`,
    'hides the verification of a session after it was killed',
  ],
  [
    'a rejection names the exact check',
    `${SERVER}/src/http/response/rejection-to-wire.ts`,
    '...(rejection.param === undefined ? {} : { param: rejection.param })',
    '...(rejection.param === undefined ? { param: rejection.step as string } : { param: rejection.param })',
    `${SERVER}/tests/api/attest.test.ts`,
  ],
  [
    'any phone reads a claimed session',
    `${CORE}/src/protocol/checks.ts`,
    "const holding = rowsOf('claim', 'decline', 'evidence', 'attest', 'read')",
    "const holding = rowsOf('claim', 'decline', 'evidence', 'attest')",
    `${SERVER}/tests/api/attest-rules.test.ts`,
  ],
  [
    'the watch token is derived like the completion secret',
    `${CORE}/src/ports/derived-keys.ts`,
    "`bwt_${textMac(keyId, 'watch', sessionId)}`",
    "`bwt_${textMac(keyId, 'completion', sessionId)}`",
    `${SERVER}/tests/adapters/keys/keyring.test.ts`,
  ],
])

const DOUBLED = against('doubled', [
  [
    'a second request takes over an idempotency key',
    `${STORE}/src/tables/idempotency-table.ts`,
    'on conflict (key_hash) do nothing',
    'on conflict (key_hash) do update set session_id = excluded.session_id',
    `${SERVER}/tests/api/create-session.test.ts`,
  ],
  [
    'a session replaces another one with its primary key',
    `${STORE}/src/tables/session-table.ts`,
    'on conflict (session_key) do nothing',
    'on conflict (session_key) do update set id = excluded.id',
    `${SERVER}/tests/storage/tables/session-ids.test.ts`,
  ],
  [
    'a second phone claims a claimed session',
    `${CORE}/src/domain/changes.ts`,
    '(session.deviceId !== null && session.deviceId !== deviceId)',
    '(session.claimedNonce === nonce && session.deviceId === deviceId)',
    `${SERVER}/tests/storage/sqlite/sqlite-store.test.ts`,
  ],
])

const RACED = against('raced', [
  [
    'a move is made from an outdated row',
    `${STORE}/src/tables/session-table.ts`,
    'and id = $2 and seq = $3 and',
    'and id = $2 and seq >= $3 and',
    `${SERVER}/tests/storage/sqlite/sqlite-store.test.ts`,
  ],
  [
    'a move ignores an assertion that came between',
    `${STORE}/src/tables/session-table.ts`,
    'and valid_assertions = $4`',
    'and valid_assertions <= $4`',
    `${SERVER}/tests/storage/sqlite/sqlite-store.test.ts`,
  ],
  [
    'a write resolves before its commit',
    `${STORE}/src/sqlite/sqlite-store.ts`,
    'for (const unit of units) unit.run()',
    'for (const unit of units) {\n        unit.run()\n        unit.done()\n      }',
    `${SERVER}/tests/storage/sqlite/sqlite-store.test.ts`,
  ],
])

/** Mistakes that each open one attack. */
export const MUTANTS: readonly Mutant[] = [
  ...FORGED,
  ...INBOX,
  ...QUORUM_MUTANTS,
  ...REPLAYED,
  ...RELAYED,
  ...WEBHOOKS,
  ...RECEIPT_MUTANTS,
  ...AUDIT_MUTANTS,
  ...APPROVAL_MUTANTS,
  ...CIBA_MUTANTS,
  ...CROSS_TENANT,
  ...LEAKED,
  ...DOUBLED,
  ...RACED,
]
