import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import type { Unit } from '../../../core/src/ports/store.ts'
import type { Work } from '../../../core/src/ports/work.ts'
import { harness } from '../../../../tests/harness/harness.ts'
import type { TestPhone } from '../../../../tests/harness/phone.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const LONGER_THAN_ANY_SESSION_MS = 600_000

/**
 * The first statement of each writing unit waits for the row of another node, until ten minutes
 * from now. The time is one for all units: the service writes in the background as well, and a
 * session that ended a day ago is deleted.
 */
function waitForRows(): Disposable {
  const until = h.clock.now() + LONGER_THAN_ANY_SESSION_MS
  const write = h.service.store.write.bind(h.service.store)
  const waiting = mock.method(h.service.store, 'write', <T>(unit: Unit<T>) =>
    write((tables) => late(unit(tables), until)),
  )
  return { [Symbol.dispose]: () => waiting.mock.restore() }
}

function* late<T>(work: Work<T>, until: number): Work<T> {
  let step = work.next()
  h.clock.advance(Math.max(until - h.clock.now(), 0))
  while (step.done !== true) step = work.next(yield step.value)
  return step.value
}

type ClaimCase = { readonly session: CreatedSession; readonly phone: TestPhone }
for (const [name, { from, call, reason }] of Object.entries({
  DELETE: {
    from: 'pending',
    call: ({ session }: ClaimCase) => h.kill(session),
    reason: 'session_not_found',
  },
  'form-completed': {
    from: 'bonded',
    call: ({ session }: ClaimCase) => h.complete(session),
    reason: 'session_not_found',
  },
  claim: {
    from: 'pending',
    call: ({ session, phone }: ClaimCase) => h.claim(phone, session),
    reason: 'session_not_live',
  },
  decline: {
    from: 'pending',
    call: ({ session, phone }: ClaimCase) => h.decline(phone, session),
    reason: 'session_not_live',
  },
} as const))
  test(`${name} that waits for the row of a session until it has expired changes nothing`, async () => {
    const given = await h.reach(from)
    // A session that the node has in memory would be judged without a wait.
    await h.restart()
    {
      using _ = waitForRows()
      assert.equal((await call(given)).body.error.reason, reason)
    }
    assert.equal((await h.get(given.session)).body.state, 'expired')
  })
