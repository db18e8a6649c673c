import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionContext, Workflow } from '@bonded/contract'
import type { Rejection, Result } from '../../src/domain/rejection.ts'
import type { BackendCaller } from '../../src/operations/service.ts'
import { setPush } from '../../src/operations/inbox/wake-phones.ts'
import { checkPublishableKey } from '../../src/operations/session/check-publishable-key.ts'
import { completeSession } from '../../src/operations/session/complete-session.ts'
import { createSession, type SessionRequest } from '../../src/operations/session/create-session.ts'
import { createQuorum } from '../../src/operations/session/quorum.ts'
import { type Check, CHECKS } from '../../src/protocol/checks.ts'
import { Secret } from '@bonded/contract'
import {
  CREATED_AT as NOW,
  deviceWith,
  QUORUM_ID,
  SESSION_ID,
  sessionWith,
  TENANT_ID,
  tenantWith,
} from '../records.ts'
import { serviceOver } from './stub-service.ts'

/*
 * What an integrator reads when a request is rejected: the reason, the member at fault, and the
 * sentence about it, all of them. A test that reads the reason alone passes with another member.
 */
const CONTEXT: SessionContext = { display: [{ label: 'Amount', value: '10' }] }

function rejectionOf(result: Result<unknown>): Rejection | undefined {
  return result.ok ? undefined : result.rejection
}

const WORKFLOWS: readonly Workflow[] = [
  { name: 'wire', actions: ['send', 'recall'] },
  { name: 'named', actions: ['go'], subject: 'required' },
  { name: 'agent', actions: ['go'], delivery: 'inbox', requester: 'required' },
  { name: 'both', actions: ['go'], delivery: 'inbox', quorum: { needed: 3 } },
]
const TENANT = tenantWith({ workflows: WORKFLOWS })
const OTHER = tenantWith({ id: 'ten_2' as typeof TENANT_ID, name: 'Other Shop' })

const callerWith = (members: object = {}) =>
  ({
    kind: 'backend',
    credential: { keyId: 'k', tenant: TENANT, scope: null, ...members },
  }) as BackendCaller

const PUBLISHABLE: Readonly<Record<string, object>> = {
  pk_own: { tenant: TENANT, scope: null, revokedAt: null },
  pk_wire: { tenant: TENANT, scope: [{ workflow: 'wire', actions: ['recall'] }], revokedAt: null },
  pk_other: { tenant: OTHER, scope: null, revokedAt: null },
  pk_revoked: { tenant: TENANT, scope: null, revokedAt: NOW },
}
const service = serviceOver(
  {
    tenants: { list: () => [TENANT, OTHER], findPublishableKey: (key: string) => PUBLISHABLE[key] },
  },
  { keys: { currentKeyId: 'k1' } },
)

const create = async (request: SessionRequest, caller = callerWith()) =>
  rejectionOf(await createSession(service, caller, { request, idempotencyKey: undefined }))

test('a create that is rejected names the member at fault', async () => {
  const requester = { kind: 'agent', name: 'Bot' } as const
  const looks = (member: string) => ({
    reason: 'invalid_member',
    param: `context.requester.${member}`,
    detail: `The ${member} has words that look like the name of another organization.`,
  })
  const send = { workflow: 'wire', action: 'send' }
  const cases: [SessionRequest, object][] = [
    [
      { context: { ...CONTEXT, requester: { ...requester, name: 'The 0ther Shop bot' } } },
      looks('name'),
    ],
    [
      { context: { ...CONTEXT, requester: { ...requester, detail: 'of Other-Shop' } } },
      looks('detail'),
    ],
    [
      { context: { ...CONTEXT, requester: { ...requester, name: '✔ Bot' } } },
      {
        reason: 'invalid_member',
        param: 'context.requester.name',
        detail: 'A check mark reads as a verification.',
      },
    ],
    [{}, { reason: 'workflow_required', param: 'workflow' }],
    [{ workflow: 'card' }, { reason: 'workflow_unknown', param: 'workflow' }],
    [{ workflow: 'wire' }, { reason: 'action_required', param: 'action' }],
    [
      { workflow: 'wire', action: 'go' },
      { reason: 'action_unknown', param: 'action' },
    ],
    [
      { ...send, publishableKey: 'pk_none' },
      { reason: 'key_of_another_tenant', param: 'publishableKey' },
    ],
    [
      { ...send, publishableKey: 'pk_other' },
      { reason: 'key_of_another_tenant', param: 'publishableKey' },
    ],
    [
      { ...send, publishableKey: 'pk_revoked' },
      { reason: 'key_of_another_tenant', param: 'publishableKey' },
    ],
    [
      { ...send, publishableKey: 'pk_wire' },
      { reason: 'action_not_enabled', param: 'publishableKey' },
    ],
    [
      { workflow: 'named', publishableKey: 'pk_wire', subject_ref: 'u' },
      { reason: 'workflow_not_enabled', param: 'publishableKey' },
    ],
    [{ workflow: 'named' }, { reason: 'subject_required', param: 'subject_ref' }],
    [{ workflow: 'agent' }, { reason: 'subject_required', param: 'subject_ref' }],
    [
      { workflow: 'agent', subject_ref: 'u', context: CONTEXT },
      { reason: 'requester_required', param: 'context.requester' },
    ],
    [
      { workflow: 'both', subject_ref: 'u' },
      { reason: 'quorum_required', param: 'workflow' },
    ],
  ]
  for (const [request, rejection] of cases)
    assert.deepEqual(await create(request), rejection, JSON.stringify(request))
  const suspended = callerWith({ tenant: { ...TENANT, suspendedAt: NOW } })
  assert.deepEqual(await create(send, suspended), { reason: 'tenant_suspended' })
  const scoped = callerWith({ scope: [{ workflow: 'wire', actions: ['recall'] }] })
  assert.deepEqual(await create(send, scoped), { reason: 'action_not_enabled', param: 'action' })
  assert.deepEqual(await create({ workflow: 'named' }, scoped), {
    reason: 'workflow_not_enabled',
    param: 'workflow',
  })
})

test('a quorum that is rejected names the member at fault', async () => {
  const quorum = async (members: object) =>
    rejectionOf(
      await createQuorum(service, callerWith(), {
        request: {
          workflow: 'both',
          subject_refs: ['a', 'b', 'c'],
          needed: 3,
          context: CONTEXT,
          ...members,
        },
        idempotencyKey: undefined,
      }),
    )
  for (const [members, rejection] of [
    [
      { needed: 4 },
      { reason: 'invalid_member', param: 'needed', detail: 'It exceeds subject_refs.' },
    ],
    [
      { maker_ref: 'c' },
      {
        reason: 'invalid_member',
        param: 'subject_refs.2',
        detail: 'The maker does not approve the own request.',
      },
    ],
    [
      { maker_ref: 'a' },
      {
        reason: 'invalid_member',
        param: 'subject_refs.0',
        detail: 'The maker does not approve the own request.',
      },
    ],
    [{ needed: 2 }, { reason: 'quorum_required', param: 'needed' }],
    [
      { workflow: 'named' },
      {
        reason: 'invalid_member',
        param: 'workflow',
        detail: 'A quorum needs a workflow with delivery inbox.',
      },
    ],
  ] as const)
    assert.deepEqual(await quorum(members), rejection)
})

test('a completion is rejected at its first wrong part', async () => {
  const bonded = sessionWith({
    state: 'bonded',
    expiresAt: NOW + 1,
    context: { ...CONTEXT, digest: 'digest' },
  })
  const complete = async (input: object, members: object = {}) => {
    const session = { ...bonded, ...members }
    const over = serviceOver(
      { sessions: { find: () => session, ofQuorum: () => [session] } },
      {
        keys: {
          holds: () => true,
          same: (a: string, b: string) => a === b,
          completionSecret: () => new Secret('secret'),
        },
      },
    )
    return rejectionOf(
      await completeSession(over, callerWith(), {
        id: SESSION_ID,
        completionSecret: 'secret',
        contextDigest: 'digest',
        ...input,
      }),
    )
  }
  const quorum = { context: { ...bonded.context, quorum: { id: QUORUM_ID, needed: 2, of: 2 } } }
  for (const [input, members, rejection] of [
    [{ id: undefined }, {}, { reason: 'session_not_found' }],
    [
      { completionSecret: undefined, contextDigest: 'other' },
      {},
      { reason: 'completion_secret_missing', param: 'X-Bond-Completion-Secret' },
    ],
    [
      { completionSecret: 'other', contextDigest: 'other' },
      {},
      { reason: 'completion_secret_mismatch', param: 'X-Bond-Completion-Secret' },
    ],
    [
      { contextDigest: 'other' },
      { state: 'pending' },
      { reason: 'context_mismatch', param: 'X-Bond-Context-Digest' },
    ],
    [{}, { state: 'pending' }, { reason: 'session_not_bonded' }],
    [
      {},
      { ...quorum, quorumId: QUORUM_ID },
      { reason: 'session_not_bonded', detail: 'Too few people have approved it.' },
    ],
  ] as const)
    assert.deepEqual(await complete(input, members), rejection)
})

test('a check of a publishable key says which part of the use it does not cover', () => {
  const scope = [{ workflow: 'wire', actions: ['recall'] }]
  const check = (tenantId?: string, workflow?: string, action?: string) =>
    rejectionOf(checkPublishableKey({ tenant: TENANT, scope }, { tenantId, workflow, action }))
  const notEnabled = { reason: 'workflow_not_enabled', param: 'workflow' }
  const noAction = { reason: 'action_not_enabled', param: 'action' }
  assert.deepEqual(check('ten_2', 'card'), { reason: 'key_of_another_tenant', param: 'tenant_id' })
  assert.deepEqual([check(TENANT_ID), check()], [undefined, undefined])
  assert.deepEqual([check(TENANT_ID, 'card'), check(undefined, 'named')], [notEnabled, notEnabled])
  assert.deepEqual(
    [check(undefined, 'wire'), check(undefined, 'wire', 'recall')],
    [undefined, undefined],
  )
  assert.deepEqual(
    [check(undefined, 'wire', 'send'), check(undefined, 'wire', 'go')],
    [noAction, noAction],
  )
})

test('an address at which no push service listens is rejected with its problem', async () => {
  const over = serviceOver({}, { push: { endpointProblem: () => 'the host is private' } })
  const request = { endpoint: 'https://x', issued_at: '', app_attest: {} } as never
  const caller = { kind: 'phone', device: deviceWith(), tokenIssuedAt: NOW } as const
  assert.deepEqual(rejectionOf(await setPush(over, caller, request)), {
    reason: 'invalid_member',
    param: 'endpoint',
    detail: 'The service sends nothing to it: the host is private.',
  })
})

test('each check that says more than its reason says the whole of it', () => {
  const facts = {
    now: NOW,
    shows: ['text'],
    session: {
      policy: { formats: ['webauthn', 'android-key'] },
      context: { ...CONTEXT, text: 'Send', requester: { kind: 'agent', name: 'Bot' } },
    },
  }
  const said = CHECKS.flatMap(({ step, calls, says }: Check) => {
    const more = says(facts as never)
    return Object.keys(more).length === 0 ? [] : [[step, calls.join(' '), more]]
  })
  assert.deepEqual(said, [
    [
      'device_format',
      'claim decline evidence attest read browser',
      { detail: 'It accepts webauthn, android-key.' },
    ],
    [
      'shows',
      'claim attest',
      {
        param: 'shows',
        detail:
          'This app does not show all of it (requester). Update the app, or open the link instead.',
      },
    ],
    [
      'browser_key',
      'claim',
      {
        param: 'browser_key',
        detail: 'It needs a passkey for the browser too. Register one, or open the link instead.',
      },
    ],
    [
      'issued_at',
      'evidence attest token add remove inbox resume push',
      { param: 'issued_at', serverTime: NOW },
    ],
    [
      'local_auth',
      'evidence',
      { param: 'signals.local_auth.verified_at', detail: 'It is at most 30 s after issued_at.' },
    ],
  ])
})
