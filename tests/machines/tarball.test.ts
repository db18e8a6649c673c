import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { packTarball } from './copy-repository.ts'
import { completeSession, CREATE_TENANT } from './complete-session.ts'
import { debianRoot, DISTROLESS, rootsMissing } from './debian-root.ts'
import { isolated, USER } from './isolated.ts'

/** The program of the command `bonded`. */
const BONDED = ['/opt/bonded/node', '/opt/bonded/packages/service/bin/bonded.js']

test('the tarball completes a session and backs it up on a machine without Node', {
  skip: rootsMissing(),
  timeout: 600_000,
}, async () => {
  const work = mkdtempSync(join(tmpdir(), 'bonded-tarball-'))
  chmodSync(work, 0o711)
  after(() => rmSync(work, { recursive: true, force: true }))
  execFileSync('tar', ['-xzf', await packTarball(work), '-C', work])
  for (const part of [
    'node.LICENSE',
    'LICENSE',
    'sbom.cdx.json',
    'bonded',
    'systemd/bonded-backup.timer',
    'systemd/bonded-console.service',
    'systemd/bonded-ciba.service',
    'nginx/bonded-console.conf',
    'prometheus/alertmanager.yaml',
    'prometheus/alerts.yaml',
    'grafana/bonded.json',
    'root-keys/age',
  ])
    assert.ok(existsSync(join(work, 'bonded', part)), part)

  const root = join(work, 'root')
  cpSync(debianRoot(DISTROLESS), root, { recursive: true, verbatimSymlinks: true })
  for (const folder of ['opt/bonded', 'data']) mkdirSync(join(root, folder), { recursive: true })
  const data = join(work, 'data')
  mkdirSync(data)
  chownSync(data, USER, USER)
  const port = await freePort()
  const run = (...words: string[]) =>
    isolated({
      root,
      writable: [[data, '/data']],
      mounts: [[join(work, 'bonded'), '/opt/bonded']],
      env: ['NODE_ENV=production', 'BONDED_DATA_DIR=/data', `BONDED_PORT=${port}`],
      command: [...BONDED, ...words],
    })
  const service = spawn('setpriv', run('serve', '--json'), { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(service, 'exit')
  await Promise.race([
    once(createInterface(service.stdout), 'line'),
    exited.then(([code]) => assert.fail(`serve ended with ${code}`)),
  ])
  const created = spawnSync('setpriv', run(...CREATE_TENANT), { encoding: 'utf8' })
  assert.equal(created.status, 0, created.stderr)
  const { server_credential } = JSON.parse(created.stdout) as { server_credential: string }
  await completeSession(`http://localhost:${port}`, server_credential)
  // Loads all packages of each part.
  for (const part of ['console', 'ciba serve']) {
    const { status, stderr } = spawnSync('setpriv', run(...part.split(' '), '--help'))
    assert.equal(status, 0, `${part}: ${String(stderr)}`)
  }
  const backup = spawnSync('setpriv', run('backup', '/data/one.backup'), { encoding: 'utf8' })
  assert.equal(backup.status, 0, backup.stderr)
  service.kill('SIGTERM')
  await exited
})
