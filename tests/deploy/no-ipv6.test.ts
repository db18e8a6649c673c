import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { stringify } from 'yaml'
import { configOf, newClient } from '../../packages/ciba/tests/harness.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { firstOutput } from '../harness/first-output.ts'
import { noIpv6Filter } from '../harness/no-ipv6.ts'
import { COMMAND, CREATE_TENANT, machine } from '../harness/process.ts'

const skip =
  spawnSync('bwrap', ['--version']).status !== 0 && 'no bwrap (apt-get install bubblewrap)'

const m = machine()
after(() => m[Symbol.dispose]())

/** Starts a command where sockets of IPv6 fail, and resolves when it listens. */
async function start(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly port: number } & Disposable> {
  const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
  const isolation = '--dev-bind / / --die-with-parent --seccomp 3 --'.split(' ')
  const child = spawn('bwrap', [...isolation, process.execPath, ...COMMAND, ...words, '--json'], {
    env: { ...inherited, BONDED_DATA_DIR: m.folder, ...env },
    stdio: ['ignore', 'pipe', 'inherit', openSync(noIpv6Filter(m.folder), 'r')],
  })
  const { port } = JSON.parse(await firstOutput({ stdout: child.stdout as Readable })) as {
    port: number
  }
  return { port, [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

test('listens at :: on every address of a machine whose kernel has no IPv6', { skip }, async () => {
  const write = (name: string, content: object) => {
    const file = join(m.folder, name)
    writeFileSync(file, stringify(content))
    return file
  }
  const metricsPort = await freePort()
  using service = await start(['serve'], {
    BONDED_HOST: '::',
    BONDED_PORT: '0',
    BONDED_METRICS_HOST: '::',
    BONDED_METRICS_PORT: String(metricsPort),
  })
  const access = write('access.yaml', {
    origin: 'https://console.example',
    issuer: 'https://login.example',
    client_id: 'console',
    roles: { admin: ['operators'] },
  })
  using console = await start(['console', '--access', access, '--listen', '[::]:0'])
  const { server_credential } = await m.jsonMeanwhile(...CREATE_TENANT)
  const given = { issuer: 'https://approve.example:0', service: 'https://bond.example' }
  const client = newClient('agent')
  const ciba = write('ciba.yaml', {
    ...configOf(given, [{ client, subjects: ['x'.repeat(43)] }]),
    issuer: 'https://approve.example',
    host: '::',
    port: 0,
  })
  using provider = await start(['ciba', 'serve', '--config', ciba], {
    BONDED_SERVER_CREDENTIAL: server_credential,
  })
  for (const port of [service.port, metricsPort, console.port, provider.port])
    assert.equal((await fetch(`http://127.0.0.1:${port}/health/alive`)).status, 200)
})
