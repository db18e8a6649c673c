import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CREATE_TENANT, machine } from '../../../../tests/harness/process.ts'

const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString('base64url')
const folder = mkdtempSync(join(tmpdir(), 'bonded-keys-command-'))
after(() => rmSync(folder, { recursive: true, force: true }))

function program(name: string, script: string): string {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${script}`, { mode: 0o755 })
  return path
}

test('every command that needs root keys gets them from the program, and none prints them', async () => {
  const command = program('keys', `env > ${folder}/keys.env; echo 'k1:${KEY}'`)
  using m = machine({ env: { BONDED_ROOT_KEYS_COMMAND: command } })
  const printed: string[] = []
  const run = (...args: string[]) => {
    const ran = m.run(...args)
    assert.equal(ran.status, 0, `${args.join(' ')}: ${ran.stderr}`)
    printed.push(ran.stdout, ran.stderr)
    return ran.stdout
  }
  const { tenant_id } = m.json(...CREATE_TENANT)
  run('key', 'issue', tenant_id, '--kind', 'server')
  const backup = join(folder, 'one.backup')
  assert.match(run('backup', backup), /Store what .*keys prints in a secret store/)
  run('restore', backup, '--replace')
  run('config', 'check')
  run('config', 'print')
  run('session', 'list')
  assert.match(run('doctor', '--port', '0'), /Active key: k1/)
  await using service = await m.serve()
  printed.push(service.output())
  const environment = readFileSync(join(folder, 'keys.env'), 'utf8')
  for (const text of [...printed, environment]) assert.ok(!text.includes(KEY))
  assert.doesNotMatch(environment, /^BONDED_/m)
  // A key of the data folder would be another one, of which no backup of the operator knows.
  assert.equal(existsSync(join(m.folder, 'root.key')), false)
})

test('no command starts without the keys of a program that fails, and each says why', () => {
  const command = program('fails', `echo 'k1:${KEY}'; echo ${KEY} >&2; exit 7`)
  using m = machine({ env: { BONDED_ROOT_KEYS_COMMAND: command } })
  const message = /^error: BONDED_ROOT_KEYS_COMMAND: .*fails ended with status 7\. Run it as/
  for (const args of [
    ['serve', '--port', '0'],
    ['config', 'check'],
    CREATE_TENANT,
    ['backup', join(folder, 'none.backup')],
  ]) {
    const ran = m.run(...args)
    assert.equal(ran.status, 1, args.join(' '))
    assert.match(ran.stderr, message)
    assert.ok(!(ran.stdout + ran.stderr).includes(KEY))
  }
  const report = m.run('doctor', '--port', '0')
  assert.match(report.stdout, /root keys? +BONDED_ROOT_KEYS_COMMAND: .*ended with status 7/)
  assert.ok(!(report.stdout + report.stderr).includes(KEY))
})
