import type { TestPhone } from '../harness/phone.ts'
import { choose, pause, random } from './chance.ts'
import type { RecordedSession } from './recorder.ts'

type Task = (recorded: RecordedSession, phone: TestPhone) => Promise<void>

const bond =
  (kind: 'good' | 'weak' | 'forged'): Task =>
  async (recorded, phone) => {
    const assertion = await recorded.evidence(phone, kind)
    if (assertion === undefined) return
    await pause(2)
    await recorded.attest(phone, assertion)
    // A phone sends the same assertion again when it has lost the response.
    if (random(4) === 0) await recorded.attest(phone, assertion)
    // A complete at a random time seldom finds a bonded session.
    if (kind === 'good' && random(2) === 0) await recorded.complete()
  }

const TASKS: readonly (readonly [weight: number, task: Task])[] = [
  [3, (recorded, phone) => recorded.claim(phone)],
  [1, (recorded, phone) => recorded.decline(phone, choose(['user_declined', 'user_unexpected']))],
  [4, bond('good')],
  [2, bond('weak')],
  [1, bond('forged')],
  [3, (recorded) => recorded.complete()],
  [1, (recorded) => recorded.complete('wrong')],
  [1, (recorded) => recorded.kill()],
  [1, (recorded) => recorded.cancel()],
  [3, (recorded) => recorded.read('backend')],
  [2, (recorded) => recorded.read('browser')],
  [1, (recorded) => recorded.read('create')],
  [2, (recorded, phone) => recorded.readAsPhone(phone)],
]
const DRAWN = TASKS.flatMap(([weight, task]) => Array.from({ length: weight }, () => task))

/**
 * Makes a random call on a session after a short pause, as its backend, its browser, or one of the
 * phones. A phone that bonds makes up to three calls, and its backend may then complete the
 * session. Rejects when a response is lost.
 */
export async function randomCall(
  recorded: RecordedSession,
  phones: readonly TestPhone[],
): Promise<void> {
  await pause(3)
  await choose(DRAWN)(recorded, choose(phones))
}
