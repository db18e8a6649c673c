import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MAX_LOGO_BYTES } from '../../core/src/domain/logo.ts'
import { CREATE_TENANT, machine } from '../../../tests/harness/process.ts'

const GOOD = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>'

test('tenant update stores a logo, and removes it', () => {
  using m = machine()
  const { tenant_id } = m.json(...CREATE_TENANT)
  const file = join(m.folder, 'logo.svg')
  writeFileSync(file, GOOD)
  assert.match(m.json('tenant', 'update', tenant_id, '--logo', file).logo, /\.svg$/)
  assert.match(m.json('tenant', 'show', tenant_id).logo, /\.svg$/)
  assert.equal(m.json('tenant', 'update', tenant_id, '--no-logo').logo, null)
})

test('tenant update rejects a logo that is missing, too large, of another type, or runs code', () => {
  using m = machine()
  const { tenant_id } = m.json(...CREATE_TENANT)
  const script = GOOD.replace('<path', '<script>alert(1)</script><path')
  for (const [name, content, says] of [
    ['missing.png', undefined, /missing\.png cannot be read/],
    ['large.svg', GOOD.padEnd(MAX_LOGO_BYTES + 1), /at most 32768 bytes/],
    ['logo.png', 'GIF89a', /must be a PNG or an SVG/],
    ['script.svg', script, /an element "script"/],
    ['handler.svg', GOOD.replace('<path', '<path onload="x()"'), /an attribute "onload"/],
    [
      'link.svg',
      GOOD.replace('<path', '<use href="https://x.example/a"/><path'),
      /another resource/,
    ],
  ] as const) {
    const file = join(m.folder, name)
    if (content !== undefined) writeFileSync(file, content)
    const ran = m.run('tenant', 'update', tenant_id, '--logo', file)
    assert.equal(ran.status, 1, name)
    assert.match(ran.stderr, says, name)
  }
  assert.equal(m.json('tenant', 'show', tenant_id).logo, null, 'nothing was stored')
})
