import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Rejected } from '../../../src/http/response/rejected.ts'
import { TimeLimits } from '../../../src/http/connection/time-limits.ts'

describe('time limits', () => {
  function limits() {
    let nowMs = 0
    const limits = new TimeLimits(() => nowMs)
    const advance = (ms: number) => {
      nowMs += ms
      limits.check()
    }
    return { limits, advance }
  }
  const never = () => new Promise<string>(() => {})
  const timedOut = (failure: unknown) =>
    failure instanceof Rejected && failure.rejection.reason === 'operation_timeout'

  it('rejects an operation as timed out once its own limit is over', async () => {
    const { limits: all, advance } = limits()
    const short = all.within(never(), 8_000)
    const long = all.within(never(), 30_000)
    let longEnded = false
    long.catch(() => {
      longEnded = true
    })
    advance(7_999)
    advance(1)
    await assert.rejects(short, timedOut)
    assert.equal(longEnded, false)
    advance(22_000)
    await assert.rejects(long, timedOut)
  })

  it('passes on the response or the failure of an operation that ends in time', async () => {
    const { limits: all, advance } = limits()
    assert.equal(await all.within(Promise.resolve('done'), 8_000), 'done')
    await assert.rejects(all.within(Promise.reject(new Error('broken')), 8_000), /broken/)
    advance(60_000)
  })
})
