import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '../..')
const UNIT = join(ROOT, 'deploy/systemd/bonded.service')

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
if (!hasSystemd)
  console.warn('LOUD: no systemd-analyze (apt-get install systemd): unit not verified.')

test('systemd accepts the unit, and rates its exposure below 1.5 of 10', {
  skip: !hasSystemd,
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-unit-'))
  try {
    const node = join(folder, 'node')
    writeFileSync(node, '#!/bin/sh\n')
    chmodSync(node, 0o755)
    const unit = join(folder, 'bonded.service')
    cpSync(UNIT, unit)
    writeFileSync(unit, readFileSync(unit, 'utf8').replace('/opt/bonded/node ', `${node} `))
    const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
    assert.deepEqual([verified.status, verified.stderr], [0, ''])
    const rated = spawnSync(
      'systemd-analyze',
      ['security', '--offline=true', '--threshold=15', unit],
      { encoding: 'utf8' },
    )
    assert.equal(rated.status, 0, rated.stdout.split('\n').slice(-3).join('\n'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the unit leaves the drain its time and lets the service open enough connections', () => {
  const unit = readFileSync(UNIT, 'utf8')
  assert.match(unit, /^TimeoutStopSec=30$/m)
  assert.match(unit, /^LimitNOFILE=65536$/m)
  assert.doesNotMatch(unit, /^MemoryDenyWriteExecute=/m)
})
