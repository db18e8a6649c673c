import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  CONNECTION_LIMITS,
  type ConnectionLimitName,
  DEFAULT_CONNECTION_LIMITS,
  parseConnectionLimits,
} from '../../src/domain/connection-limits.ts'

const NAMES = Object.keys(CONNECTION_LIMITS) as ConnectionLimitName[]

test('a limit that the text does not name has its default', () => {
  assert.deepEqual(parseConnectionLimits('session=9'), { ...DEFAULT_CONNECTION_LIMITS, session: 9 })
  assert.deepEqual(parseConnectionLimits(' total=20000 , reserve=2000 '), {
    ...DEFAULT_CONNECTION_LIMITS,
    total: 20_000,
    reserve: 2_000,
  })
})

test('each limit accepts 1 up to its own maximum', () => {
  for (const name of NAMES) {
    const { max } = CONNECTION_LIMITS[name]
    const parse = (value: number) =>
      parseConnectionLimits(`${name}=${value}${name === 'reserve' ? ',total=1000000' : ''}`)
    // The reserve stays below the total.
    const highest = name === 'reserve' ? max - 1 : max
    assert.equal(parse(highest)?.[name], highest, name)
    assert.equal(parse(max + 1), undefined, name)
    assert.equal(parse(0), undefined, name)
    if (name !== 'total') assert.equal(parse(1)?.[name], 1, name)
  }
})

test('the reserve is below the total, also where only one of them is named', () => {
  const { total, reserve } = DEFAULT_CONNECTION_LIMITS
  for (const [text, isAccepted] of [
    ['total=2,reserve=1', true],
    ['total=2,reserve=2', false],
    [`total=${reserve + 1}`, true],
    [`total=${reserve}`, false],
    [`reserve=${total - 1}`, true],
    [`reserve=${total}`, false],
  ] as const)
    assert.equal(parseConnectionLimits(text) !== undefined, isAccepted, text)
})

test('rejects limits that do not follow the syntax, and one that is named twice', () => {
  for (const text of [
    '',
    ',',
    'session',
    'session=',
    'session=08',
    'session=-8',
    'session=8.5',
    'session=8,',
    'session=8,session=8',
    'session=10000000',
    'sessions=8',
    'constructor=8',
    '__proto__=8',
    'session =8',
    'session=8\n',
  ])
    assert.equal(parseConnectionLimits(text), undefined, JSON.stringify(text))
})

test('a proxy and a backend keep an idle connection for longer than a stranger', () => {
  const { idle_seconds, backend_idle_seconds, proxy_idle_seconds } = DEFAULT_CONNECTION_LIMITS
  assert.ok(idle_seconds < backend_idle_seconds && backend_idle_seconds < proxy_idle_seconds)
  assert.ok(proxy_idle_seconds > 3_600)
})
