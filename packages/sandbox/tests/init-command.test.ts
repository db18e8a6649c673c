import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test, type TestContext } from 'node:test'
import { filesOf, type Framework, FRAMEWORKS, ignoredBy } from '../src/init/frameworks.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const BONDED = join(ROOT, 'packages/service/bin/bonded.js')

/** A project, and `bonded init` in it. */
function project(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-init-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const { BONDED_DATA_DIR: _own, ...env } = process.env
  return {
    folder,
    read: (path: string) => readFileSync(join(folder, path), 'utf8'),
    write: (path: string, text: string) => writeFileSync(join(folder, path), text),
    init: (...args: string[]) => {
      const command = [BONDED, 'init', ...args, '--json']
      const options = { cwd: folder, env, encoding: 'utf8', input: '' } as const
      const { status, stdout, stderr } = spawnSync(process.execPath, command, options)
      return { status, printed: JSON.parse(stdout || stderr) as Record<string, unknown> }
    },
  }
}

test('writes the files of the example, its keys, and what it needs into a new folder', (t) => {
  const p = project(t)
  p.write('package.json', '{"name":"shop","dependencies":{"@bonded/integrator":"1.2.3"}}')
  p.write('.gitignore', 'dist')
  const { status, printed } = p.init('express', '--port', '9001')
  assert.deepEqual([status, printed['folder']], [0, p.folder])
  const shared = ['page.html', 'page.js', 'serve-page.js', 'server.js', 'site.js', 'workflow.json']
  assert.deepEqual(printed['files'], ['.env', ...shared])
  for (const name of ['server.js', 'page.html'])
    assert.equal(
      p.read(name),
      readFileSync(join(ROOT, 'examples', name === 'server.js' ? 'express' : 'site', name), 'utf8'),
    )
  const manifest = JSON.parse(p.read('package.json')) as Record<string, Record<string, string>>
  assert.equal(manifest['name'], 'shop')
  assert.deepEqual(Object.keys(manifest['dependencies'] ?? {}), ['express', '@bonded/integrator'])
  assert.equal(manifest['dependencies']?.['@bonded/integrator'], '1.2.3')
  assert.match(p.read('.env'), /^BONDED_SERVER_CREDENTIAL=sk_beta_\w+$/m)
  assert.match(p.read('.env'), /^PORT=9001$/m)
  if (process.platform !== 'win32') assert.equal(statSync(join(p.folder, '.env')).mode & 0o77, 0)
  assert.deepEqual(p.read('.gitignore').split('\n'), [
    'dist',
    '.env',
    '.bonded/',
    'node_modules/',
    'cookies',
    '',
  ])
})

for (const framework of Object.keys(FRAMEWORKS) as Framework[])
  test(`writes no shared file that the program of ${framework} does not use`, () => {
    const files = filesOf(framework)
    const isUsed = (name: string) =>
      [...files].some(([path, content]) => path !== name && content.toString().includes(name))
    const unused = readdirSync(join(ROOT, 'examples/site')).filter(
      (name) => name !== 'workflow.json' && files.has(name) && !isUsed(name),
    )
    assert.deepEqual(unused, [])
    assert.ok(files.has('workflow.json'))
    assert.equal(ignoredBy(framework).includes('.next/'), framework === 'next')
  })

test('overwrites nothing, and puts the example beside a program that exists', (t) => {
  const p = project(t)
  p.write('package.json', '{"dependencies":{"hono":"4.0.0"}}')
  p.write('server.js', 'mine')
  const { printed } = p.init()
  assert.deepEqual(
    [printed['framework'], printed['folder']],
    ['hono', join(p.folder, 'bonded-example')],
  )
  assert.equal(p.read('server.js'), 'mine')
  assert.deepEqual(JSON.parse(p.read('package.json')), { dependencies: { hono: '4.0.0' } })
  const again = p.init()
  assert.equal((again.printed['error'] as { code: string }).code, 'conflict')
})

test('names the frameworks where it can neither detect one nor ask', (t) => {
  const { status, printed } = project(t).init()
  assert.notEqual(status, 0)
  assert.match(
    (printed['error'] as { message: string }).message,
    /express \| typescript \| fastify/,
  )
})
