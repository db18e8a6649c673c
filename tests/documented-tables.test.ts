import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import * as contract from '@bonded/contract'
import { type Endpoint, ENDPOINTS, LIMITS, REASONS, statusOf } from '@bonded/contract'
import { openApiDocument } from '../packages/server/src/http/openapi.ts'
import { MIGRATIONS } from '../packages/store/src/migrations/migrations.ts'
import { asyncApiDocument } from '../scripts/asyncapi.ts'
import { personalDataPage } from '../scripts/personal-data-page.ts'

/**
 * The pages of the reference are what integrators, operators and lawyers hold the service to. They
 * were reviewed as texts, so they are the expected values of the tables in the code. After a wanted
 * change of a table, `npm run generate` writes its page again, and a reviewer sees the difference.
 */
const REFERENCE = resolve(import.meta.dirname, '../docs/reference')
const page = (name: string) => readFileSync(join(REFERENCE, name), 'utf8')
const parsed = (name: string) => JSON.parse(page(name)) as { readonly info: { version: string } }

/** The members that JSON keeps, so that both sides have the same form. */
const asJson = (value: object): unknown => JSON.parse(JSON.stringify(value))

/** The cells of each row of the first table of a page. */
function rowsOf(name: string): readonly (readonly string[])[] {
  const [, body = ''] = page(name).split(/^\|(?:-+\|)+\n/m)
  const lines = body.split('\n')
  return lines
    .slice(0, lines.indexOf(''))
    .map((line) => line.replace(/^\| | \|$/g, '').split(/ \| | \|(?=$)/))
}

test('the API has every endpoint, schema, limit and rejection as its reference describes it', () => {
  const written = parsed('openapi.json')
  const { version } = written.info
  const built = openApiDocument({ origin: 'https://bond.example', version })
  assert.deepEqual(asJson(built), written)
})

test('the channel and the webhooks have every message as their reference describes it', () => {
  const written = parsed('asyncapi.json')
  const { version } = written.info
  const built = asyncApiDocument({ host: 'bond.example', version })
  assert.deepEqual(asJson(built), written)
})

test('every event has the meaning that its reference gives', () => {
  const rows = rowsOf('events.md').map(([type = '', meaning]) => [type.slice(1, -1), meaning])
  assert.deepEqual(Object.entries(contract.EVENTS), rows)
})

test('every reason has the status, the code and the message of its page', () => {
  const rows = rowsOf('reasons/README.md').map(([link = '', status, code = '', message]) => [
    /^\[`(\w+)`\]\(\1\.md\)$/.exec(link)?.[1],
    Number(status),
    code.slice(1, -1),
    message,
  ])
  const built = Object.entries(REASONS).map(([reason, { code, message }]) => [
    reason,
    statusOf(reason as contract.Reason),
    code,
    message,
  ])
  assert.deepEqual(built, rows)
  const pages = readdirSync(join(REFERENCE, 'reasons')).filter((name) => name !== 'README.md')
  assert.deepEqual(
    pages.toSorted(),
    Object.keys(REASONS)
      .map((reason) => `${reason}.md`)
      .toSorted(),
  )
})

test('the page of each reason names the endpoints that return it, and its message', () => {
  const all = Object.values<Endpoint>(ENDPOINTS)
  for (const [reason, { message }] of Object.entries(REASONS)) {
    const text = page(`reasons/${reason}.md`)
    assert.ok(text.includes(`**What happened.** ${message}\n`), reason)
    const listed = [...text.matchAll(/^- `(\w+ \S+)`$/gm)].map(([, name]) => name)
    if (!text.includes('\nEndpoints that return it:\n')) continue
    const own = all.filter(({ rejections }) => (rejections as string[]).includes(reason))
    for (const { method, path } of own) assert.ok(listed.includes(`${method} ${path}`), reason)
  }
})

test('every limit has the quota, the burst and the unit of its page, and counts at its endpoints', () => {
  const rows = rowsOf('limits.md').map(([name = '', quota, per, at = '']) => [
    name.slice(1, -1),
    quota,
    per,
    [...at.matchAll(/`((?:GET|POST|DELETE) \/(?:api|health|version)\S*)`/g)].map(([, one]) => one),
  ])
  const built = Object.entries<{
    per: string
    quota: number
    every: 'minute' | 'session'
    burst?: number
  }>(LIMITS).map(([name, { per, quota, every, burst }]) => [
    name,
    every === 'session'
      ? `${quota} in total`
      : `${quota} per minute${burst === undefined ? '' : `, bursts of ${burst}`}`,
    per,
    Object.values<Endpoint>(ENDPOINTS)
      .filter(({ limits }) => (limits as readonly string[]).includes(name))
      .map(({ method, path }) => `${method} ${path}`),
  ])
  assert.deepEqual(built, rows)
})

test('a share of a quarter of a burst is kept for networks with less than two creates in five minutes', () => {
  const { NEWCOMER_SHARE, NEWCOMER_CREATES, NEWCOMER_PERIOD_MINUTES } = contract
  assert.deepEqual([NEWCOMER_SHARE, NEWCOMER_CREATES, NEWCOMER_PERIOD_MINUTES], [0.25, 2, 5])
})

test('every table and index of the database is as the page about storage has it', () => {
  const text = page('storage.md')
  const oneLine = (sql: string) => sql.replaceAll(/\s+/g, ' ').trim()
  /** The statements of one database: those of both, and those below its own heading. */
  const statementsOn = (database: string) =>
    text
      .split(/^(?=On \w+:$)/m)
      .flatMap((part) => part.split(/^(?=## Step)/m))
      .filter((part) => !part.startsWith('On ') || part.startsWith(`On ${database}:`))
      .flatMap((part) => [...part.matchAll(/```sql\n([^]*?)```/g)])
      .flatMap(([, sql = '']) => sql.split(';\n').map(oneLine))
      .filter((statement) => statement !== '')
      .toSorted()
  const stepsOn = (database: 'statements' | 'postgres') =>
    MIGRATIONS.flatMap((step) => step[database] ?? step.statements)
      .map(oneLine)
      .toSorted()
  assert.deepEqual(stepsOn('statements'), statementsOn('SQLite'))
  assert.deepEqual(stepsOn('postgres'), statementsOn('PostgreSQL'))
  assert.ok(text.includes('create table tenant '), 'the statements were found')
})

test('every column is personal, emptied, deleted or kept as the page about personal data says', () => {
  const [, ...paragraphs] = page('personal-data.md').split('\n\n')
  assert.equal(paragraphs.join('\n\n'), personalDataPage())
})
