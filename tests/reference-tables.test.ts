import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { LIMIT_NAMES } from '@bonded/contract'
import {
  CONNECTION_LIMITS,
  DEFAULT_CONNECTION_LIMITS,
} from '../packages/core/src/domain/connection-limits.ts'
import {
  CARRIED_SECOND,
  CONTINUITY_FACTORS,
  CONTINUITY_MODEL,
  MIN_CARRIED_SECONDS,
} from '../packages/core/src/domain/continuity.ts'
import { TENANT_LIMITS, USUAL_LIMITS } from '../packages/core/src/domain/limits.ts'
import { COUNTED_PREFIXES } from '../packages/core/src/domain/network.ts'
import { ASSERTION_WEIGHTS, PRESENCE_WEIGHTS } from '../packages/core/src/domain/scoring.ts'
import { MOVES } from '../packages/core/src/protocol/states.ts'
import { checksPage } from '../scripts/checks-page.ts'
import { reservedLabels } from '../scripts/reserved-labels.ts'

/*
 * The pages of the reference that are made of tables of core. A page is what a reader relies on, so
 * a table that says something else than its page is wrong, also where no other test has the value.
 */
const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(resolve(ROOT, path), 'utf8')
const pageOf = (name: string) =>
  read(`docs/reference/${name}`).replace(/^<!-- Generated[^\n]*-->\n\n/, '')

/** The cells of each row below a heading row, without the marks of code. */
function rowsBelow(page: string, heading: string): string[][] {
  const [, after = assert.fail(`there is no table ${heading}`)] = page.split(`\n${heading}\n`)
  const [table = ''] = after.split('\n\n')
  const rows = table.trim().split('\n').slice(1)
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

test('the page of the checks has each check, and the sentence that explains each step', () => {
  assert.equal(checksPage(), pageOf('checks.md'))
})

test('the page of the continuity has each number of the model', () => {
  const page = pageOf('continuity.md')
  assert.deepEqual(
    Object.values(CARRIED_SECOND).map(({ above, below }) => [`${above}`, `${below}`]),
    rowsBelow(page, '| measure of the second | above | below |').map((row) => row.slice(1)),
  )
  assert.deepEqual(
    Object.entries(CONTINUITY_FACTORS).map(([name, { measure, none, full }]) => [
      name,
      measure,
      `${none}`,
      `${full}`,
    ]),
    rowsBelow(page, '| factor | measure | none | full |'),
  )
  assert.ok(page.includes(`(model \`${CONTINUITY_MODEL}\`)`))
  assert.ok(page.includes(`\nFewer than ${MIN_CARRIED_SECONDS} carried seconds score 0.`))
})

test('the reserved labels are the texts that phones show themselves', () => {
  assert.equal(read('packages/core/src/domain/reserved-labels.ts'), reservedLabels())
})

test('the page of the states has each transition', () => {
  const [created, ...rows] = rowsBelow(
    pageOf('states.md'),
    '| transition | from | to | ended_reason |',
  )
  assert.deepEqual(created, ['create', '–', 'pending', ''])
  assert.deepEqual(
    Object.entries(MOVES).map(([name, move]) => [
      name,
      move.from.join(', '),
      move.to,
      'endedReason' in move ? move.endedReason : '',
    ]),
    rows,
  )
})

test('the page of the scores has the weight of each proof', () => {
  const page = pageOf('scores.md')
  for (const [name, weights] of [
    ['assertion_confidence', ASSERTION_WEIGHTS],
    ['human_presence_confidence', PRESENCE_WEIGHTS],
  ] as const) {
    const [, own = ''] = page.split(`## ${name}\n`)
    const rows = rowsBelow(own, '| evidence | weight |')
    const found = Object.entries(weights).flatMap(
      ([proof, weight]: [string, number | Record<string, number>]) =>
        typeof weight === 'number'
          ? [[proof, `${weight}`]]
          : Object.entries(weight).map(([kind, value]) => [`${proof}: ${kind}`, `${value}`]),
    )
    assert.deepEqual(found, rows, name)
  }
})

test('the page of the limits has the quota and the burst of each, and which a tenant may set', () => {
  const heading = '| limit | quota | per | counted at | configurable per tenant |'
  const rows = rowsBelow(pageOf('limits.md'), heading)
  const found = LIMIT_NAMES.map((name) => {
    const { quota, burst, intervalUs } = USUAL_LIMITS[name]
    const isInTotal = intervalUs >= 24 * 60 * 60 * 1_000_000
    const bursts = burst === quota ? '' : `, bursts of ${burst}`
    const own = TENANT_LIMITS.includes(name) ? 'yes' : ''
    return [name, isInTotal ? `${quota} in total` : `${quota} per minute${bursts}`, own]
  })
  assert.deepEqual(
    found,
    rows.map(([name, quota, , , own]) => [name, quota, own]),
  )
})

test('the page of the limits has the quotas of wider networks', () => {
  const rows = rowsBelow(pageOf('limits.md'), '| network | quota |')
  assert.deepEqual(
    [
      ['IPv4 address', 'the quota'],
      ...COUNTED_PREFIXES.map(({ bits, quotas }) => [
        `IPv6 /${bits}`,
        quotas === 1 ? 'the quota' : `${quotas} × the quota`,
      ]),
    ],
    rows,
  )
})

test('the page of the limits has the default and the meaning of each limit of connections', () => {
  const rows = rowsBelow(pageOf('limits.md'), '| name | default | limits |')
  assert.deepEqual(
    Object.entries(CONNECTION_LIMITS).map(([name, { fallback, meaning }]) => [
      name,
      `${fallback}`,
      meaning,
    ]),
    rows,
  )
  assert.deepEqual(
    Object.entries(DEFAULT_CONNECTION_LIMITS).map(([name, value]) => [name, `${value}`]),
    rows.map(([name, value]) => [name, value]),
  )
})
