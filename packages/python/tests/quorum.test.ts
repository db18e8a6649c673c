import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import type { CreatedQuorum, FullSession } from '@bonded/contract'
import { quorumHarness } from '../../../tests/harness/quorum.ts'
import { findPython, runPython } from './python.ts'

/** Programs of Python that know no more than their page or their release says, and real phones. */
const FOLDER = join(import.meta.dirname, 'quorum')
const found = findPython('cryptography', 'httpx')
const skip = 'skip' in found && found.skip

type Scene = Awaited<ReturnType<typeof quorumHarness>>

/** A backend of `page_client.py`, which has asked the first people of the scene. */
async function startClient({ h, refs }: Scene, of: number, needed: number) {
  assert.ok('python' in found)
  const child = spawn(found.python, ['-B', join(FOLDER, 'page_client.py'), String(needed)], {
    env: {
      ...process.env,
      PYTHONUTF8: '1',
      BONDED_ORIGIN: `http://127.0.0.1:${h.running.port}`,
      BONDED_SERVER_CREDENTIAL: h.shop.server,
      TENANT: h.shop.tenant.id,
      REFS: JSON.stringify(refs.slice(0, of)),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => String((await lines.next()).value)
  const { ids, ...asked } = JSON.parse(await next())
  /** What the backend does now, with the quorum or with one of its sessions. */
  const act = (id = '') => {
    child.stdin.write(`${id}\n`)
    return next()
  }
  const quorum = { ...asked, sessions: ids.map((id: string) => ({ id })) } as CreatedQuorum
  const end = async () => {
    const ended = once(child, 'close')
    child.stdin.end()
    assert.deepEqual(await ended, [0, null])
  }
  return { quorum, act, [Symbol.asyncDispose]: end }
}

test('a client written from the protocol page alone acts once, on two approvals and not on half of them', {
  skip,
}, async () => {
  await using scene = await quorumHarness()
  const [ann, bob] = scene.people
  await using client = await startClient(scene, 2, 2)
  const { quorum, act } = client
  assert.equal(await act(), 'refused: 0 of 2 approvals')
  const half = await scene.approve(ann, quorum)
  assert.equal(await act(), 'refused: 1 of 2 approvals')
  assert.equal(await act(half.id), 'refused: one session does not pass')
  await scene.approve(bob, quorum)
  assert.equal(await act(half.id), 'refused: one session does not pass')
  assert.equal(await act(), 'transferred €12,500')
  assert.equal(await act(), 'refused: the approvals were used')
  assert.equal(await scene.states(quorum), 'completed completed')
})

test('a client written from the protocol page alone refuses two approvals of which one is taken back', {
  skip,
}, async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const [ann, bob] = people
  await using client = await startClient(scene, 2, 2)
  const { quorum, act } = client
  await scene.approve(ann, quorum)
  const { id, nonce } = await scene.approve(bob, quorum)
  const { device_id, device_token: token } = bob.phone
  const body = { nonce, device_id, reason: 'user_declined' }
  assert.equal((await h.api('POST', `/sessions/${id}/decline`, { token, body })).status, 200)
  assert.equal(await act(), 'refused: a user said no')
})

test('the gate of the example for Django of 54c310bb, unchanged, refuses half an approval', {
  skip,
}, async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const quorum = await scene.ask()
  const { id } = await scene.approve(people[0], quorum)
  const alone: FullSession = (await h.get({ id })).body
  assert.equal(alone.state, 'bonded')
  const other = (await scene.read(quorum)).sessions.find((each) => each.id === id)
  assert.ok('python' in found)
  const program = `import json, sys
from older_gate import Policy, judge_submit
sessions, digest, ref = json.load(sys.stdin)
row = {"owner": "maker", "workflow": "wire", "action": "act"}
row |= {"context_digest": digest, "subject_ref": ref}
for one in sessions:
    row["session_id"] = one["id"]
    print(*judge_submit(one, row, "maker", Policy("wire", "act"), digest)[1:][0] or ["accepted"])`
  const digest = alone.context?.digest
  const whole = { ...alone, verification: other?.verification }
  const input = JSON.stringify([[alone, whole], digest, alone.subject_ref])
  const { printed } = runPython(found.python, ['-c', program], { PYTHONPATH: FOLDER }, input)
  // The second line shows that the first has no other cause: a verification alone would pass it.
  assert.equal(printed, 'verification_missing\naccepted\n')
})
