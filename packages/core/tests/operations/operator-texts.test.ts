import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceId, EventId, SessionId, SubjectId, TenantId } from '@bonded/contract'
import { inspectDevice, moveDevice } from '../../src/operations/admin/devices.ts'
import { findReceipt } from '../../src/operations/admin/find-receipt.ts'
import { inspectSession } from '../../src/operations/admin/inspect-session.ts'
import { issueKey, revokeKey } from '../../src/operations/admin/keys.ts'
import { killSessionAsOperator } from '../../src/operations/admin/kill-session.ts'
import { rejectOlderNode } from '../../src/operations/admin/operator-error.ts'
import { checkRpIds } from '../../src/operations/admin/relying-parties.ts'
import { removeTenant } from '../../src/operations/admin/remove-tenant.ts'
import { rollKey } from '../../src/operations/admin/roll-key.ts'
import { scopeOf } from '../../src/operations/admin/subject-scope.ts'
import {
  changeSubject,
  findSubjectId,
  inspectSubject,
  resumeInboxes,
} from '../../src/operations/admin/subjects.ts'
import { suspendTenant } from '../../src/operations/admin/suspend-tenant.ts'
import { setLogo } from '../../src/operations/admin/tenant-logo.ts'
import { findTenant, limitTenant } from '../../src/operations/admin/tenants.ts'
import * as webhooks from '../../src/operations/admin/webhooks.ts'
import { admitNode, reportNodes } from '../../src/operations/maintenance/node-levels.ts'
import { parseLimits } from '../../src/domain/limits.ts'
import {
  CREATED_AT as NOW,
  DEVICE_ID,
  deviceWith,
  SESSION_ID,
  sessionWith,
  SUBJECT_ID,
  TENANT_ID,
  tenantWith,
} from '../records.ts'
import { outcomeOf, serviceOver } from './stub-service.ts'

/*
 * What an operator reads when a command cannot be carried out: the whole sentence and its code, so
 * that a script branches on the right one, and an operator runs the command that it names.
 */
const none = () => undefined
const no = () => false
const TEN = 'ten_1' as TenantId
const SESS = 'sess_1' as SessionId
const DEV = 'dev_1' as DeviceId
const SUB = 'sub_1' as SubjectId

test('what is unknown is named as the operator named it', async () => {
  const nothing = serviceOver({
    tenants: {
      find: none,
      setLogo: no,
      setLimits: no,
      setSuspended: no,
      findKey: none,
      revoke: no,
    },
    sessions: { find: none },
    devices: { find: none },
    subjects: {
      find: none,
      keys: () => [],
      blockedAt: none,
      references: () => [],
      family: () => [],
    },
    receipts: { find: none },
    webhooks: { findEndpoint: none, deliveriesOf: () => [] },
  })
  const cases: [() => unknown, string][] = [
    [() => findTenant(nothing, TEN), 'No tenant ten_1'],
    [() => limitTenant(nothing, TEN, {}), 'No tenant ten_1'],
    [() => setLogo(nothing, TEN, null), 'No tenant ten_1'],
    [() => removeTenant(nothing, TEN, 'Bank'), 'No tenant ten_1'],
    [() => webhooks.listEndpoints(nothing, TEN), 'No tenant ten_1'],
    [
      () => inspectSession(nothing, SESS),
      'No session sess_1. The service deletes sessions some time after they end, by default 24 hours',
    ],
    [
      () => killSessionAsOperator(nothing, SESS),
      'No session sess_1. The service deletes sessions some time after they end, by default 24 hours',
    ],
    [() => inspectDevice(nothing, DEV), 'No device dev_1'],
    [() => moveDevice(nothing, DEV, 'block'), 'No device dev_1'],
    [() => revokeKey(nothing, 'k'), 'No such key. List the keys with bonded key list <tenant>'],
    [
      () => rollKey(nothing, { key: 'k', graceMs: 1 }),
      'No such key. List the keys with bonded key list <tenant>',
    ],
    [() => inspectSubject(nothing, SUB), 'No subject sub_1'],
    [() => scopeOf(nothing, SUB), 'No subject sub_1'],
    [
      () => findSubjectId(nothing, { tenantId: TEN, subjectRef: 'r' }),
      'The tenant ten_1 knows no user by this subject_ref',
    ],
    [
      () => findSubjectId(nothing, { subjectRef: 'r' }),
      'The service knows no user by this subject_ref',
    ],
    [
      () => findReceipt(nothing, SESS),
      'No receipt of session sess_1. A running service makes it a few seconds after the bond, if receipts are configured',
    ],
  ]
  for (const [operation, message] of cases)
    assert.equal(await outcomeOf(operation), `not_found: ${message}`)
})

test('a key is issued for a workflow and an action that the tenant has', async () => {
  const service = serviceOver({ tenants: { find: () => tenantWith() } })
  const issue = (workflow: string, action: string) =>
    outcomeOf(() =>
      issueKey(service, {
        tenantId: TENANT_ID,
        kind: 'server',
        scope: [{ workflow, actions: [action] }],
      }),
    )
  assert.equal(await issue('card', 'send'), 'not_found: The tenant has no workflow card')
  assert.equal(await issue('wire', 'order'), 'not_found: The workflow wire has no action order')
})

test('a key that is revoked or rolled is neither revoked nor rolled again', async () => {
  const key = { tenantId: TENANT_ID, kind: 'server', scope: null, name: null, createdAt: NOW }
  const withKey = (members: object) =>
    serviceOver({ tenants: { findKey: () => ({ ...key, ...members }), revoke: no } })
  const roll = (members: object) =>
    outcomeOf(() => rollKey(withKey(members), { key: 'k', graceMs: 1 }))
  const revoked = { revokedAt: NOW, expiresAt: null }
  assert.equal(
    await outcomeOf(() => revokeKey(withKey(revoked), 'k')),
    'conflict: The key is already revoked',
  )
  assert.equal(
    await roll(revoked),
    'conflict: The key is already revoked. Issue a new one with bonded key issue',
  )
  const rolled =
    'conflict: The key is already being rolled. See bonded key list <tenant> for its end, or end it now with bonded key revoke'
  assert.equal(await roll({ revokedAt: NOW + 1, expiresAt: null }), rolled)
  assert.equal(await roll({ revokedAt: null, expiresAt: null }), rolled)
})

test('a session that has ended, and a device or a user in that state already, are conflicts', async () => {
  for (const state of ['completed', 'expired'] as const) {
    const session = sessionWith({ state, endedAt: NOW })
    assert.equal(
      await outcomeOf(() =>
        killSessionAsOperator(serviceOver({ sessions: { find: () => session } }), SESSION_ID),
      ),
      `conflict: The session has already ended: it is ${state}`,
    )
  }
  const device = serviceOver({
    devices: { find: () => deviceWith({ status: 'suspect' }), move: no },
  })
  for (const verb of ['block', 'unblock', 'remove'] as const)
    assert.equal(
      await outcomeOf(() => moveDevice(device, DEVICE_ID, verb)),
      'conflict: The device is already suspect',
    )
  const subject = serviceOver({
    subjects: {
      keys: () => [deviceWith()],
      blockedAt: none,
      references: () => [],
      block: no,
      unblock: no,
    },
  })
  assert.equal(
    await outcomeOf(() => changeSubject(subject, SUBJECT_ID, 'block')),
    'conflict: The subject is already blocked',
  )
  assert.equal(
    await outcomeOf(() => changeSubject(subject, SUBJECT_ID, 'unblock')),
    'conflict: The subject is not blocked',
  )
  assert.equal(
    await outcomeOf(() => resumeInboxes(subject, SUBJECT_ID)),
    'conflict: No tenant is paused',
  )
})

test('a tenant is removed once it is suspended, by its name, and without a bond', async () => {
  const remove = (members: object, name?: string, live?: object) =>
    outcomeOf(() =>
      removeTenant(
        serviceOver({
          tenants: { find: () => tenantWith(members), removeRows: () => 0, remove: no },
          sessions: { movable: () => (live === undefined ? [] : [live]) },
          subjectData: { partEnd: none },
        }),
        TENANT_ID,
        name,
      ),
    )
  const deletes =
    'This permanently deletes Example Bank: its keys, origins, logo, webhook endpoints and deliveries, sessions, rejections, receipts, and what it knows of users. Type its name to confirm: --name <name>'
  const suspended = { suspendedAt: NOW }
  assert.equal(
    await remove({}, 'Example Bank'),
    `conflict: The tenant is not suspended. Suspend it first: bonded tenant suspend ${TENANT_ID}`,
  )
  assert.equal(await remove(suspended), `conflict: ${deletes}`)
  assert.equal(
    await remove(suspended, 'Example bank'),
    `conflict: The tenant has another name. ${deletes}`,
  )
  assert.equal(
    await remove(suspended, 'Example Bank', sessionWith({ state: 'bonded' })),
    'conflict: A session of the tenant is bonded. Try again after it has ended',
  )
  assert.equal(
    await remove(suspended, 'Example Bank'),
    'conflict: The tenant was resumed meanwhile',
  )
})

test('a limit that counts no tenant, and a file that cannot be a logo, are not valid', async () => {
  const service = serviceOver({})
  assert.equal(
    await outcomeOf(() => limitTenant(service, TENANT_ID, parseLimits('get=5,device=5') ?? {})),
    'invalid: device cannot be set for a tenant. Use create, create_address, get, backend',
  )
  assert.match(
    String(await outcomeOf(() => setLogo(service, TENANT_ID, Buffer.from('<svg/>')))),
    /^invalid: The logo was rejected: the logo must be a PNG\. /,
  )
  assert.equal(
    await outcomeOf(() =>
      suspendTenant(serviceOver({ tenants: { find: none, setSuspended: no } }), TEN),
    ),
    'not_found: No tenant ten_1',
  )
})

test('an RP ID that the settings lack is named, with both ways to go on', async () => {
  const check = (stored: readonly string[], formerRpIds?: readonly string[]) =>
    outcomeOf(() =>
      checkRpIds(serviceOver({ devices: { rpIds: () => stored } }), {
        rpId: 'new.example',
        formerRpIds,
      }),
    )
  assert.deepEqual(await check(['a.example', 'b.example']), ['a.example', 'b.example'])
  assert.deepEqual(await check(['new.example', 'a.example'], ['a.example']), [
    'new.example',
    'a.example',
  ])
  assert.equal(
    await check(['c.example', 'new.example', 'b.example', 'a.example'], ['a.example', 'z.example']),
    'conflict: Phones have passkeys with the RP ID c.example, b.example, but new passkeys would have new.example. To keep the RP ID, set BONDED_RP_ID to it. To change it, set BONDED_RP_ID_FORMER=a.example,z.example,c.example,b.example; those phones keep their passkeys',
  )
})

test('a node of an older version is named, and what it would ignore', async () => {
  const rejected = serviceOver({ claimLevel: (level: number) => level < 2 })
  const reject = (level: number) =>
    outcomeOf(() =>
      rejected.store.write((tables) => rejectOlderNode(tables, { level, feature: 'quorum' })),
    )
  assert.equal(await reject(1), undefined)
  assert.equal(
    await reject(2),
    'conflict: A node of an older version serves, and would ignore the quorum. Upgrade all nodes, and try again 10 seconds later',
  )
  const nodes = (used: number) =>
    outcomeOf(() =>
      reportNodes(
        serviceOver({
          nodes: () => [
            { node: 'n1', level: 3 },
            { node: 'n2', level: 1 },
            { node: 'n3', level: 2 },
          ],
          usedLevel: () => used,
        }),
      ),
    )
  assert.equal(await nodes(1), 'Nodes that serve: 3.')
  assert.equal(
    await nodes(3),
    'rejected: Nodes that serve, and ignore a feature that is in use: n2, n3. They run an older version. Their metric bonded_node_outdated is 1, and their log has the same id. Stop them, and start the version of the other nodes',
  )
  assert.equal(await reportNodes(serviceOver({ nodes: () => [], usedLevel: () => 9 })), undefined)
  await assert.rejects(admitNode(serviceOver({ admitNode: no })), {
    message:
      'This version would ignore a feature that is in use, so it does not serve. Usually the service was upgraded, and this node was not. Start the version of the other nodes. To return to this version, restore a backup from before the upgrade.',
    kind: 'unsuitable',
  })
})

test('a rejection of a webhook command says what the API says, and how to allow another host', async () => {
  const unknown = serviceOver({ webhooks: { findEndpoint: none, deliveriesOf: () => [] } })
  assert.equal(
    await outcomeOf(() => webhooks.inspectEvent(unknown, 'evt_1' as EventId)),
    'not_found: The log has no delivery of this event. It keeps deliveries for 30 days by default.',
  )
  assert.match(
    String(await outcomeOf(() => webhooks.removeEndpoint(unknown, 'we_1' as never))),
    /^not_found: (?!.*BONDED_WEBHOOK_HOSTS)/,
  )
  const refusing = serviceOver(
    { tenants: { find: () => tenantWith() } },
    { webhooks: { urlProblem: () => 'the host is private' } },
  )
  const given = { tenantId: TENANT_ID, url: 'http://x', events: null, scheme: 'v1' } as const
  assert.match(
    String(await outcomeOf(() => webhooks.createEndpoint(refusing, given))),
    /^invalid: .+ Here the host is private\. BONDED_WEBHOOK_HOSTS allows others\.$/,
  )
  const full = serviceOver(
    {
      tenants: { find: () => tenantWith(), setNotifies: none },
      webhooks: { endpoints: () => Array.from({ length: 10 }) },
    },
    {
      webhooks: { urlProblem: none, newSecret: () => ({ secret: 's', verifier: 'v' }) },
      random: { id: () => new Uint8Array(16) },
      keys: { sealWebhook: () => 'sealed' },
    },
  )
  assert.match(
    String(await outcomeOf(() => webhooks.createEndpoint(full, given))),
    /^conflict: (?!.*BONDED_WEBHOOK_HOSTS)/,
  )
})
