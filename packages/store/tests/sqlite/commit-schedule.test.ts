import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { COMMIT_INTERVAL_MS, CommitSchedule } from '../../src/sqlite/commit-schedule.ts'

describe('the commit schedule', () => {
  it('does not delay the first write', () => {
    assert.equal(new CommitSchedule().delayMs(0), 0)
  })

  it('never delays a lone writer, however fast it writes', () => {
    const schedule = new CommitSchedule()
    for (let index = 0; index < 100; index += 0.1) {
      assert.equal(schedule.delayMs(index), 0)
      schedule.begin(1, index)
    }
  })

  it('delays a write after a commit of several units until the interval has passed', () => {
    const schedule = new CommitSchedule()
    schedule.begin(4, 100)
    assert.equal(schedule.delayMs(101), COMMIT_INTERVAL_MS - 1)
    assert.equal(schedule.delayMs(100 + COMMIT_INTERVAL_MS), 0)
    assert.equal(schedule.delayMs(500), 0)
  })

  it('stops delaying within a few commits of one unit', () => {
    const schedule = new CommitSchedule()
    schedule.begin(8, 0)
    let commits = 0
    for (let index = 1; schedule.delayMs(index) > 0; index++, commits++) schedule.begin(1, index)
    assert.ok(commits <= 4, `${commits} commits`)
  })

  it('bounds every delay by the interval', () => {
    const schedule = new CommitSchedule()
    for (let index = 0; index < 100; index++) {
      schedule.begin(1 + (index % 50), index)
      assert.ok(schedule.delayMs(index) <= COMMIT_INTERVAL_MS)
    }
  })
})
