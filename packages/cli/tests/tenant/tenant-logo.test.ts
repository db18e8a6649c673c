import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { MAX_LOGO_BYTES } from '../../../core/src/domain/logo.ts'
import { png, pngChunk } from '../../../../tests/png.ts'
import { CREATE_TENANT, machine } from '../../../../tests/harness/process.ts'

test('tenant update stores a logo, and removes it', () => {
  using m = machine()
  const { tenant_id } = m.json(...CREATE_TENANT)
  const file = join(m.folder, 'logo.png')
  writeFileSync(file, png())
  assert.match(m.json('tenant', 'update', tenant_id, '--logo', file).logo, /\.png$/)
  assert.match(m.json('tenant', 'show', tenant_id).logo, /\.png$/)
  assert.equal(m.json('tenant', 'update', tenant_id, '--no-logo').logo, null)
})

test('tenant update rejects a logo that is missing, too large, of another type, or animated', () => {
  using m = machine()
  const { tenant_id } = m.json(...CREATE_TENANT)
  for (const [name, content, says] of [
    ['missing.png', undefined, /missing\.png cannot be read/],
    ['large.png', Buffer.alloc(MAX_LOGO_BYTES + 1, png()), /at most 32768 bytes/],
    ['logo.svg', '<svg xmlns="http://www.w3.org/2000/svg"></svg>', /Convert an SVG: rsvg-convert/],
    ['animated.png', png(8, 8, pngChunk('acTL')), /a chunk "acTL"/],
  ] as const) {
    const file = join(m.folder, name)
    if (content !== undefined) writeFileSync(file, content)
    const ran = m.run('tenant', 'update', tenant_id, '--logo', file)
    assert.equal(ran.status, 1, name)
    assert.match(ran.stderr, says, name)
  }
  assert.equal(m.json('tenant', 'show', tenant_id).logo, null, 'nothing was stored')
})
