import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CARRIER_MEMBERS } from '../../src/settings/carriers-file.ts'
import { PHONES_FILE, TEST_ROOTS_FILE } from '../../src/settings/phones-file.ts'
import { SECRET_FILES } from '../../src/settings/secret-files.ts'
import { SETTINGS } from '../../src/settings/settings.ts'

/** The committed page: an operator reads there what a mistake and the help say too. */
const page = readFileSync(
  join(import.meta.dirname, '../../../../docs/reference/configuration.md'),
  'utf8',
)
/** The rows of the tables below a heading, as they are written. */
const rowsBelow = (heading: string) =>
  (page.split(`${heading}\n`)[1] ?? assert.fail(`the page has no ${heading}`))
    .split(/\n#+ /)[0]!
    .split('\n')
    .filter((line) => line.startsWith('| `'))

const cell = (text: string) => (/^https?:/.test(text) ? `\`${text}\`` : text)

test('every setting has the description, the values and the default of the reference page', () => {
  assert.deepEqual(
    SETTINGS.map(
      ({ name, key, about, expects, fallback, secret }) =>
        `| \`${name}\` | \`${key}\` | ${about} | ${expects}${secret ? ' (secret)' : ''} | ${cell(fallback.replaceAll('<', fallback.startsWith('http') ? '<' : '&lt;'))} |`,
    ),
    rowsBelow('# Configuration'),
  )
})

test('the settings that can be in a file of their own are those of the reference page', () => {
  const [line = ''] = /^Secrets can be in files.*$/m.exec(page) ?? []
  assert.deepEqual(
    SECRET_FILES.map((name) => `${name}_FILE`),
    [...line.matchAll(/`(\w+_FILE)`/g)].map(([, name]) => name),
  )
})

test('settings that name a file or a folder say so, for the completion of a shell', () => {
  const paths = SETTINGS.flatMap(({ name, path }) => (path ? [`${name} ${path}`] : []))
  assert.deepEqual(paths, [
    'BONDED_ROOT_KEYS_COMMAND file',
    'BONDED_RECEIPT_KEYS file',
    'BONDED_RECEIPT_COMMAND file',
    'BONDED_RECEIPT_CHECKPOINT file',
    'BONDED_DATA_DIR folder',
    'BONDED_CARRIERS file',
    'BONDED_CSCA_DIR folder',
    'BONDED_PHONES file',
    'BONDED_TEST_ROOTS file',
  ])
})

for (const [title, file] of [
  ['## Phones file (`BONDED_PHONES`)', PHONES_FILE],
  ['## Test roots file (`BONDED_TEST_ROOTS`)', TEST_ROOTS_FILE],
] as const) {
  test(`${title.slice(3)} has the parts and members of the reference page`, () => {
    const text = (page.split(title)[1] ?? assert.fail()).split(/\n## /)[0] ?? ''
    const written = Object.entries(file).map(([name, { about, many, members }]) => {
      const rows = Object.entries<{ expects: string; fallback?: unknown }>(members).map(
        ([member, { expects, ...rest }]) =>
          `| \`${member}\` | ${expects} | ${'fallback' in rest ? `\`${JSON.stringify(rest.fallback)}\`` : 'required'} |`,
      )
      return [`\`${name}\`${many ? ', a list' : ''}`, about, ...rows].join('\n')
    })
    const parts = text.split('\n### ').slice(1)
    const listed = parts.map((part) => {
      const [heading, about, ...rows] = part
        .split('\n')
        .filter((line) => line !== '' && !/^\| member|^\|---/.test(line))
      return [heading, about, ...rows].join('\n')
    })
    assert.deepEqual(written, listed)
  })
}

test('the members of a carrier accept what the reference page says', () => {
  assert.deepEqual(
    Object.entries(CARRIER_MEMBERS).map(([member, expects]) => `| \`${member}\` | ${expects} |`),
    rowsBelow('## Carriers file (`BONDED_CARRIERS`)'),
  )
})
