import {
  type DeviceId,
  makeId,
  type QuorumId,
  type SessionId,
  type SubjectId,
  type TenantId,
} from '@bonded/contract'
import type { Nonces } from '../src/domain/challenge.ts'
import { newSession } from '../src/domain/new-session.ts'
import { policyOf } from '../src/domain/policy.ts'
import type { Device, Session } from '../src/domain/session.ts'
import type { Tenant } from '../src/domain/tenant.ts'

/** When the session of `sessionWith` was created. */
export const CREATED_AT = Date.parse('2026-11-26T12:00:00.000Z')

const sixteen = (last: number) => Uint8Array.from({ length: 16 }, (_, index) => index * last)
export const SESSION_ID: SessionId = makeId('sess', sixteen(1))
export const TENANT_ID: TenantId = makeId('ten', sixteen(2))
export const SUBJECT_ID: SubjectId = makeId('sub', sixteen(3))
export const DEVICE_ID: DeviceId = makeId('dev', sixteen(4))
export const OTHER_DEVICE_ID: DeviceId = makeId('dev', sixteen(5))
export const QUORUM_ID: QuorumId = makeId('quo', sixteen(6))

/** A session as it is created, with the default lifetimes, and then with these members. */
export function sessionWith(members: Partial<Session> = {}): Session {
  return {
    ...newSession({
      id: SESSION_ID,
      tenantId: TENANT_ID,
      rootKeyId: 'k1',
      workflow: 'wire',
      action: 'send',
      policy: policyOf({ name: 'wire', actions: ['send'] }),
      createdAt: CREATED_AT,
      context: { display: [{ label: 'Amount', value: '10' }] },
      wantedSubjectRef: null,
      sealedPhoneNumber: 'sealed-number',
      endUserNetwork: '192.0.2.0/24',
      notifies: false,
    }),
    ...members,
  }
}

/** An active, attested phone of production, and then with these members. */
export function deviceWith(members: Partial<Device> = {}): Device {
  return {
    id: DEVICE_ID,
    subjectId: SUBJECT_ID,
    format: 'android-key',
    keyId: 'key-1',
    publicKey: Uint8Array.of(1, 2, 3),
    environment: 'production',
    status: 'active',
    appId: 'com.example.app',
    counter: 0,
    lastIssuedAt: null,
    createdAt: CREATED_AT,
    addedBy: null,
    ...members,
  }
}

/** A tenant with these members. */
export function tenantWith(members: Partial<Tenant> = {}): Tenant {
  return {
    id: TENANT_ID,
    name: 'Example Bank',
    environment: 'production',
    demo: false,
    origins: ['https://bank.example'],
    workflows: [{ name: 'wire', actions: ['send'] }],
    ...members,
  }
}

/** Nonces that name their index, so that a test reads which one it presents. */
export const NONCES: Nonces = {
  nonceAt: (index) => `nonce ${index}`,
  stepNonceAt: (n) => `step nonce ${n}`,
  sameText: (a, b) => a === b,
}
