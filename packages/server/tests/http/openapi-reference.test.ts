import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openApiDocument } from '../../src/http/openapi.ts'

type Document = Readonly<Record<string, unknown>>

/** The committed document, from which integrators generate their clients. */
const committed = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../../docs/reference/openapi.json'), 'utf8'),
) as Document & { readonly info: Document }

test('the service makes the document of the reference, with its own origin and version', () => {
  const given = { origin: 'https://bond.bank.example', version: '9.8.7' }
  const made = JSON.parse(JSON.stringify(openApiDocument(given))) as Document
  const expected: Document = {
    ...committed,
    info: { ...committed.info, version: '9.8.7' },
    servers: [{ url: 'https://bond.bank.example' }],
  }
  // One part after the other, because the difference of two whole documents takes seconds.
  assert.deepEqual(Object.keys(made), Object.keys(expected))
  for (const name of Object.keys(expected)) {
    const [own, written] = [made[name], expected[name]]
    if (typeof written !== 'object' || written === null) assert.equal(own, written)
    else
      for (const part of new Set([...Object.keys(own as Document), ...Object.keys(written)]))
        assert.deepEqual((own as Document)[part], (written as Document)[part], `${name} ${part}`)
  }
})
