import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')

// With Node's default, a client keeps a connection for 30 s longer than the limit of the server.
test('every HTTP server checks for slow requests more often than Node does by default', () => {
  const servers = globSync('packages/*/src/**/*.ts', { cwd: ROOT }).filter((file) => {
    const text = readFileSync(resolve(ROOT, file), 'utf8')
    return /import \{[^}]*\bcreateServer\b[^}]*\} from 'node:https?'|= Fastify\(/.test(text)
  })
  assert.ok(servers.length >= 5, servers.join())
  assert.deepEqual(
    servers.filter(
      (file) => !readFileSync(resolve(ROOT, file), 'utf8').includes('connectionsCheckingInterval'),
    ),
    [],
  )
})
