import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { randomDPoPKeyPair } from 'openid-client'
import { firstOutput } from '../../../tests/harness/first-output.ts'
import { cibaSetup, DETAILS, openidClient, phoneOf } from './harness.ts'
import { startKeycloak } from './keycloak.ts'
import { startReceiver } from './receiver.ts'

const MAIN = join(import.meta.dirname, '../../service/src/main.ts')
const processes: ChildProcess[] = []
after(() => {
  for (const child of processes) child.kill('SIGKILL')
})

/** Starts the command, and resolves when it is ready. */
async function serve(file: string, credential: string, env = {}): Promise<ChildProcess> {
  const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
  const words = ['--conditions=@bonded/source', '--disable-warning=ExperimentalWarning', MAIN]
  const child = spawn(process.execPath, [...words, 'ciba', 'serve', '--config', file, '--json'], {
    env: { ...inherited, ...env, BONDED_SERVER_CREDENTIAL: credential },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  processes.push(child)
  assert.match(await firstOutput(child), /"ready"/)
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

test('requests and used approvals survive a kill of the process', async () => {
  await using setup = await cibaSetup()
  const { file, credential, issuer, agent, inbox } = setup
  const phone = phoneOf(inbox)
  const first = await serve(file, credential)
  const { ask, poll } = await openidClient(issuer, agent)
  const { auth_req_id } = await ask({ login_hint: inbox.subjectRef, requested_expiry: '600' })
  const other = await randomDPoPKeyPair('ES256')
  await kill(first)
  await phone.approve()
  const second = await serve(file, credential)
  const { authorization_details } = await poll(auth_req_id)
  assert.deepEqual(authorization_details, [DETAILS])
  await kill(second)
  const third = await serve(file, credential)
  await assert.rejects(poll(auth_req_id, { by: other }), { error: 'invalid_grant' })
  const ended = once(third, 'exit')
  third.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})

test('the notification of a client survives kills before the answer and before its response', async (t) => {
  const receiver = await startReceiver(t)
  await using setup = await cibaSetup({ receiver })
  const { file, credential, issuer, agent, inbox } = setup
  const phone = phoneOf(inbox)
  const env = { NODE_EXTRA_CA_CERTS: receiver.certificate }
  const first = await serve(file, credential, env)
  const { ask, poll } = await openidClient(issuer, agent)
  const { auth_req_id } = await ask({
    login_hint: inbox.subjectRef,
    client_notification_token: 'YDFrbK3vYSzTWJrGn9eZyw',
  })
  await kill(first)
  await phone.approve()
  receiver.statuses.push(0)
  const second = await serve(file, credential, env)
  const { body } = await receiver.next()
  assert.deepEqual(body, { auth_req_id })
  // It does not know whether the client has read it.
  await kill(second)
  await serve(file, credential, env)
  assert.deepEqual((await receiver.next()).body, { auth_req_id })
  assert.deepEqual((await poll(auth_req_id)).authorization_details, [DETAILS])
})

test('Keycloak gets an answer that the user gave while no process ran', async (t) => {
  const realm = await startKeycloak(t)
  await using setup = await cibaSetup({ realm })
  const { file, credential, issuer, inbox } = setup
  const first = await serve(file, credential)
  const { authReqId } = await realm.ask(`${issuer}/keycloak`)
  await kill(first)
  await phoneOf(inbox).approve()
  await serve(file, credential)
  assert.deepEqual((await realm.next()).body, { status: 'SUCCEED' })
  assert.equal(realm.poll(authReqId), 'tokens')
})
