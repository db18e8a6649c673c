import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { POSTGRES_PENDING_TABLE } from '@bonded/integrator/postgres'
import { readConfig } from '../../packages/server/src/settings/config.ts'
import { walkGuide } from '../samples/guide.ts'
import type { Values } from '../samples/replacements.ts'

const textIn = (path: string, values: Values = {}) =>
  walkGuide({ path, test: import.meta.filename, values }, async (next) => next()())
const DIGEST = Array(32).fill('AB').join(':')

for (const { path, app, values } of [
  { path: 'docs/guides/phones.md', app: 'A1B2C3D4E5.example.bank', values: {} },
  {
    path: 'examples/phone-app/README.md',
    app: 'A1B2C3D4E5.com.example.approve',
    values: { '<SHA-256 of the signing certificate>': DIGEST },
  },
])
  test(`the service reads the phones of ${path}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bonded-phones-'))
    const file = join(folder, 'phones.yaml')
    writeFileSync(file, await textIn(path, values))
    const { appLinks } = readConfig({ BONDED_PHONES: file, BONDED_DATA_DIR: folder })
    assert.deepEqual(appLinks.apple, [app])
    rmSync(folder, { recursive: true })
  })

test('the table of put-it-on-your-site.md is that of the store', async () => {
  const statement = await textIn('docs/guides/put-it-on-your-site.md')
  assert.equal(statement.trim(), POSTGRES_PENDING_TABLE)
})
