import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMIT_NAMES, LIMITS, NEWCOMER_CREATES, NEWCOMER_PERIOD_MINUTES } from '@bonded/contract'
import { fc } from '../../../../tests/random.ts'
import {
  formatLimits,
  limitOfNetwork,
  NEWCOMER_LIMIT,
  parseLimits,
  reservedForNewcomers,
  TENANT_LIMITS,
  USUAL_LIMITS,
} from '../../src/domain/limits.ts'

const MINUTE_US = 60_000_000
const only = (text: string) => Object.values(parseLimits(text) ?? assert.fail(text))[0]

test('a rate never exceeds its quota, and loses less than one hundredth of it', () => {
  for (const quota of [1, 7, 59, 60, 61, 599, 1_001, 59_999, 599_999, 600_000]) {
    const { intervalUs } = only(`get=${quota}`) ?? assert.fail()
    assert.ok(Number.isInteger(intervalUs))
    assert.ok(intervalUs * quota >= MINUTE_US, `${quota}`)
    assert.ok(MINUTE_US / intervalUs > quota * 0.99, `${quota}`)
  }
})

test('the limit of a session gains no unit while the session can wait for its phone', () => {
  for (const name of LIMIT_NAMES.filter((limit) => LIMITS[limit].every === 'session')) {
    const { quota, burst, intervalUs, policy } = USUAL_LIMITS[name]
    assert.deepEqual([burst, intervalUs], [quota, 24 * 60 * MINUTE_US])
    assert.equal(policy, `"${name}";q=${quota}`)
  }
})

test('a policy names the burst only where it differs from the quota', () => {
  assert.equal(only('get=240')?.policy, '"get";q=240;w=60')
  assert.equal(only('get=240/10')?.policy, '"get";q=240;w=60;burst=10')
  assert.equal(only('evidence=12')?.policy, '"evidence";q=12')
})

test('a limit without a burst has the usual one, or else its quota', () => {
  assert.deepEqual([only('create=50')?.burst, only('create=5000')?.burst], [100, 100])
  assert.deepEqual([only('get=50')?.burst, only('get=5000')?.burst], [50, 5_000])
})

test('parses every limit that it formats as the same limit', () => {
  const entry = fc.record({
    name: fc.constantFrom(...LIMIT_NAMES),
    quota: fc.integer({ min: 1, max: 600_000 }),
    burst: fc.option(fc.integer({ min: 1, max: 999_999 }), { nil: undefined }),
    burstIsQuota: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.uniqueArray(entry, { selector: ({ name }) => name, minLength: 1 }),
      (entries) => {
        const text = entries.map(({ name, quota, burst, burstIsQuota }) => {
          if (burst === undefined || LIMITS[name].every === 'session') return `${name}=${quota}`
          return `${name}=${quota}/${burstIsQuota ? quota : burst}`
        })
        const limits = parseLimits(text.join(',')) ?? assert.fail(text.join(','))
        assert.deepEqual(parseLimits(formatLimits(limits)), limits)
      },
    ),
  )
})

test('formats no limits as an empty text', () => {
  assert.equal(formatLimits({}), '')
})

test('rejects limits that do not follow the syntax, or that a limit is named twice in', () => {
  for (const text of [
    '',
    ' ',
    ',',
    'get',
    'get=',
    'get=0',
    'get=01',
    'get=-1',
    'get=1.5',
    'get=1e3',
    'get=600001',
    'get=6000000',
    'get=5/',
    'get=5/0',
    'get=5/1000000',
    'get=5/5/5',
    'get=5,',
    'get=5,get=6',
    'get =5',
    'GET=5',
    'newcomer=5',
    'constructor=5',
    '__proto__=5',
    'evidence=6/2',
    'get=5;create=5',
    'get=5\n',
  ])
    assert.equal(parseLimits(text), undefined, JSON.stringify(text))
  assert.ok(parseLimits(' get=600000/999999 , create=1/1 '))
})

test('a tenant can override no limit that counts callers without a tenant', () => {
  for (const name of TENANT_LIMITS) assert.match(LIMITS[name].per, /tenant|credential|session/)
})

test('a create bucket of two or more keeps a unit for newcomers and one for known networks', () => {
  const reserved = (burst: number) => reservedForNewcomers({ ...USUAL_LIMITS.create, burst })
  assert.deepEqual([1, 2, 4, 5, 100].map(reserved), [0, 1, 1, 2, 25])
  for (let burst = 2; burst < 200; burst++)
    assert.ok(reserved(burst) >= 1 && reserved(burst) < burst, `${burst}`)
})

test('a wider network has several quotas, and never more than them', () => {
  const limit = USUAL_LIMITS.challenge
  const of = (quotas: number) => limitOfNetwork(limit, { key: '', quotas })
  assert.equal(of(1), limit)
  for (const quotas of [2, 3, 7, 8]) {
    assert.equal(of(quotas).burst, limit.burst * quotas)
    assert.ok(of(quotas).intervalUs * quotas >= limit.intervalUs)
    assert.ok((of(quotas).intervalUs - 1) * quotas < limit.intervalUs)
  }
})

test('a network counts as new as often in a period as the contract says', () => {
  const { burst, intervalUs } = NEWCOMER_LIMIT
  assert.equal(burst, NEWCOMER_CREATES)
  assert.equal(burst * intervalUs, NEWCOMER_PERIOD_MINUTES * MINUTE_US)
})
