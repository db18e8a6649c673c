import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MAY_HOLD_SECRET } from '../../../server/src/settings/shown-value.ts'
import { SECRET_FILES } from '../../../server/src/settings/secret-files.ts'
import { SETTINGS } from '../../../server/src/settings/settings.ts'
import { machine } from '../../../../tests/harness/process.ts'

const MARKER = 'Tr0ub4dor'
/** Mistakes that people make with secrets, and secrets given instead of the name of a file. */
const MALFORMED: readonly string[] = [
  'postgres://u:Tr0ub4dor@u/Tr0ub4dor@db.invalid/bonded',
  'postgres://u:1@2/Tr0ub4dor@db.invalid/bonded',
  'postgres://u:a?Tr0ub4dor@db.invalid/bonded',
  'postgres://u:1#Tr0ub4dor@db.invalid/bonded',
  'postgres:/u:Tr0ub4dor@db.invalid/bonded',
  'postgres//u:Tr0ub4dor@db.invalid/bonded',
  'u:Tr0ub4dor@db.invalid/bonded',
  '"postgres://u:Tr0ub4dor@db.invalid/bonded"',
  ' postgres://u:Tr0ub4dor%@db.invalid:99999/bonded\n',
  'postgres://u@db.invalid/bonded?sslpassword=Tr0ub4dor&password=Tr0ub4dor',
  'host=db.invalid user=u password=Tr0ub4dor',
  'https://Tr0ub4dor@collector.invalid/v1/traces',
  'https://collector.invalid/v1/traces?api-key=Tr0ub4dor',
  'authorization: Bearer Tr0ub4dor',
  'k1:Tr0ub4dor,k1=Tr0ub4dor',
  'Tr0ub4dorTr0ub4dorTr0ub4dorTr0ub4dorTr0ub4d:k1',
  '{"k1":"Tr0ub4dor"}',
  '-----BEGIN PRIVATE KEY-----\nTr0ub4dor\n-----END PRIVATE KEY-----',
]
const NAMES = [
  ...SETTINGS.filter(({ secret }) => secret).map(({ name }) => name),
  ...MAY_HOLD_SECRET,
  ...SECRET_FILES.map((name) => `${name}_FILE`),
  // Mistyped names.
  'BONDED_ROOT_KEY',
  'BONDED_DATABASE_PASSWORD',
]

const without = (text: string) => assert.ok(!text.includes(MARKER), text)

for (const name of NAMES)
  test(`no message has a malformed value of ${name}`, () => {
    using m = machine()
    for (const value of MALFORMED) {
      using one = machine({ folder: m.folder, env: { [name]: value } })
      const check = one.run('config', 'check')
      for (const { stdout, stderr } of [check, one.run('config', 'print')]) without(stdout + stderr)
      // Read as another address than the writer meant: its messages name that.
      const next = check.status === 0 ? one.run('doctor', '--json') : one.run('tenant', 'list')
      without(next.stdout + next.stderr)
    }
    using served = machine({ folder: m.folder, env: { [name]: MALFORMED[0] as string } })
    const { status, stdout, stderr } = served.runAlone('serve', '--port', '0')
    without(stdout + stderr)
    assert.equal(status, 2, stdout + stderr)
  })

test('no message has the misspelled lines of a settings file', () => {
  using m = machine()
  const file = join(m.folder, 'bonded.yaml')
  for (const line of [
    `root_keys:k1:${MARKER}: on`,
    `database_url=postgres://u:${MARKER}@h/b: on`,
    `"root_keys: k1:${MARKER}"`,
    `root_keys: {k1: ${MARKER}}`,
    `traces_headers: [${MARKER}`,
  ]) {
    writeFileSync(file, `port: 8787\n${line}\n`)
    const { status, stdout, stderr } = m.run('config', 'check', '--config', file)
    assert.equal(status, 2, line)
    without(stdout + stderr)
  }
})

test('every setting whose value is a URL or the file of a key is known to hold a secret', () => {
  const suspects = SETTINGS.filter(
    ({ name, about, expects }) =>
      /(?:_URL|_ENDPOINT|_KEYS|_COMMAND|_TOKEN|_PASSWORD|_HEADERS)$/.test(name) ||
      /password|private key/i.test(about + expects),
  ).map(({ name }) => name)
  assert.deepEqual(
    suspects.filter((name) => !NAMES.includes(name)),
    [],
  )
})

test('shows a valid address without its password, and a file that exists', () => {
  using m = machine()
  const ca = join(m.folder, 'ca.pem')
  writeFileSync(ca, '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n')
  const shown = (env: Record<string, string>) => {
    using one = machine({ folder: m.folder, env })
    return one.json('config', 'print') as { name: string; value: string }[]
  }
  const values = shown({
    BONDED_DATABASE_URL: `postgres://u:${MARKER}@db.invalid,other.invalid/bonded?sslrootcert=${ca}`,
    BONDED_TRACES_ENDPOINT: 'https://collector.invalid/v1/traces',
    BONDED_RECEIPT_KEYS: ca,
  })
  const of = (wanted: string) => values.find(({ name }) => name === wanted)?.value
  assert.equal(
    of('BONDED_DATABASE_URL'),
    `postgres://u:***@db.invalid,other.invalid/bonded?sslrootcert=${ca}`,
  )
  for (const user of [`u:1@${MARKER}`, `u@server:${MARKER}`, `u:${MARKER}@1`]) {
    const url = `postgres://${user}@db.invalid:5433/bonded`
    const printed = shown({ BONDED_DATABASE_URL: url })
    const { value = '' } = printed.find(({ name }) => name === 'BONDED_DATABASE_URL') ?? {}
    assert.equal(value, `postgres://${user.split(':')[0]}:***@db.invalid:5433/bonded`)
  }
  assert.equal(of('BONDED_TRACES_ENDPOINT'), 'https://collector.invalid/v1/traces')
  assert.equal(of('BONDED_RECEIPT_KEYS'), ca)
})
