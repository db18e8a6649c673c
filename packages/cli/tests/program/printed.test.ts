import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertText } from '../../../../tests/harness/expected-text.ts'
import { frozenScene } from './frozen-commands.ts'

const FOLDER = join(import.meta.dirname, '../printed')
type Scene = Awaited<ReturnType<typeof frozenScene>>

/** Runs each command as text, and as JSON where it only reads. */
function both(scene: Scene, ...all: readonly (readonly string[])[]): string {
  return each(scene, ...all.flatMap((words) => [words, [...words, '--json']]))
}

function each(scene: Scene, ...all: readonly (readonly string[])[]): string {
  return all
    .map((words) => {
      const text = scene.printed(...words)
      // Members are written as the API writes them. The document of tenants has names of its own.
      if (words[0] !== 'export' && words[1] !== 'show')
        assert.doesNotMatch(text, /"[a-z]+[A-Z]\w*": /, words.join(' '))
      return text
    })
    .join('\n')
}

test('commands that read print what was read and agreed on, as text and as JSON', async (t) => {
  await using scene = await frozenScene()
  const { ids } = scene
  const of = ['--tenant', ids.shop, '--subject-ref', ids.reference]
  const cases: Readonly<Record<string, readonly (readonly string[])[]>> = {
    tenants: [
      ['tenant', 'list'],
      ['tenant', 'show', ids.shop],
      ['tenant', 'show', ids.north],
      ['key', 'list', ids.shop],
      ['export'],
    ],
    sessions: [
      ['session', 'list', '--limit', '2'],
      ['session', 'list', ids.north],
      ['session', 'list', '--state', 'killed'],
      ['session', 'show', ids.completed],
      ['session', 'show', ids.bonded],
      ['session', 'timeline', ids.completed],
      ['session', 'tail', ids.killed],
      ['session', 'rejections', '--limit', '1'],
      ['session', 'rejections', ...of],
      ['session', 'rejections', '--reason', 'none'],
    ],
    users: [
      ['device', 'list', '--limit', '3'],
      ['device', 'list', ...of],
      ['device', 'list', '--status', 'removed'],
      ['device', 'show', ids.ann.device_id],
      ['device', 'timeline', ids.cy.device_id],
      ['subject', 'show', ids.bob.subject_id],
      ['subject', 'show', ...of],
    ],
    stats: [
      ['stats'],
      ['stats', ids.north],
      ['stats', '--by', 'workflow', '--limit', '2'],
      ['stats', '--by', 'day', '--since', '2d', '--workflow', 'strict'],
    ],
    webhooks: [
      ['webhook', 'list', ids.shop],
      ['webhook', 'list', ids.north],
      ['webhook', 'deliveries', ids.shop, '--state', 'pending'],
      ['webhook', 'delivery', ids.event],
    ],
    config: [['config', 'check'], ['migrate', 'up'], ['vacuum']],
  }
  for (const [name, commands] of Object.entries(cases))
    await t.test(name, () => assertText(join(FOLDER, `${name}.txt`), both(scene, ...commands)))
})

test('commands that change something say what they did, and what to do next', async (t) => {
  await using scene = await frozenScene()
  const { ids, h } = scene
  const file = (name: string, text: string) => {
    writeFileSync(join(h.folder, name), text)
    return join(h.folder, name)
  }
  const document = [
    'tenants:',
    `  - tenantId: ${ids.shop}`,
    '    name: Shop',
    '    environment: sandbox',
    '    workflows: [{ name: strict, actions: [act, other] }]',
    '    retention: { receipts: 20 }',
    '  - name: East',
    '    environment: sandbox',
    '    allowedOrigins: [https://east.example]',
    '    workflows: [{ name: w, actions: [a] }]',
    '    limits: { get: 60/20 }',
  ].join('\n')
  const cases: Readonly<Record<string, readonly (readonly string[])[]>> = {
    'changes-of-keys': [
      ['key', 'issue', ids.north, '--kind', 'publishable', '--name', 'page-key'],
      ['key', 'issue', ids.shop, '--kind', 'publishable', '--expires', '1d'],
      ['key', 'issue', ids.shop, '--kind', 'server', '--expires', '90d', '--json'],
      ['key', 'roll', ids.publishable, '--grace', '2h'],
      ['key', 'list', ids.north],
      ['key', 'revoke', ids.publishable, '--json'],
      ['key', 'revoke', ids.batch],
    ],
    'changes-of-users': [
      ['session', 'kill', ids.waiting],
      ['session', 'kill', ids.waiting, '--json'],
      ['device', 'block', ids.ann.device_id],
      ['device', 'block', ids.ann.device_id],
      ['device', 'unblock', ids.ann.device_id, '--json'],
      ['device', 'unblock', ids.cy.device_id],
      ['device', 'remove', ids.second.device_id],
      ['device', 'timeline', ids.second.device_id],
      ['subject', 'block', ids.ann.subject_id],
      ['subject', 'unblock', ids.ann.subject_id, '--json'],
      ['subject', 'resume-inbox', ids.ann.subject_id],
      ['subject', 'erase', ids.ann.subject_id],
      ['subject', 'erase', ids.ann.subject_id, '--reason', 'T-2'],
      ['subject', 'erase', ids.bob.subject_id, '--reason', 'T-3', '--json'],
      ['subject', 'show', ids.ann.subject_id],
      ['receipt', 'new-epoch'],
    ],
    'changes-of-webhooks': [
      ['webhook', 'create', ids.north, '--url', 'https://new.example/'],
      ['webhook', 'create', 'operator', '--url', 'https://siem.example/', '--scheme', 'v1a'],
      ['webhook', 'list', 'operator'],
      ['webhook', 'update', ids.endpoint, '--disable', '--event', 'session.bonded'],
      ['webhook', 'update', ids.endpoint, '--enable', '--logged-characters', '0', '--json'],
      ['webhook', 'rotate', ids.endpoint],
      ['webhook', 'test', ids.endpoint],
      ['webhook', 'retry', ids.event],
      ['webhook', 'retry', ids.event, '--endpoint', ids.endpoint, '--json'],
      ['webhook', 'recover', ids.endpoint, '--since', '1h'],
      ['webhook', 'delete', ids.endpoint],
      ['webhook', 'delete', ids.endpoint],
    ],
    'changes-of-tenants': [
      ['tenant', 'update', ids.shop, '--remove-workflow', 'strict', '--name', 'Shop 2'],
      [
        'tenant',
        'update',
        ids.shop,
        '--retention',
        'receipts=30',
        '--add-origin',
        'https://b.example',
      ],
      ['tenant', 'limits', ids.shop, '--limit', 'get=60/20', '--limit', 'create=7'],
      ['tenant', 'show', ids.shop],
      ['tenant', 'limits', ids.shop],
      ['tenant', 'limits', ids.north, '--json'],
      ['tenant', 'suspend', ids.shop],
      ['tenant', 'suspend', ids.shop, '--json'],
      ['tenant', 'resume', ids.shop],
      ['tenant', 'resume', ids.shop],
      ['apply', '--file', file('tenants.yaml', document), '--plan'],
      ['apply', '--file', file('tenants.yaml', document), '--plan', '--json'],
      ['apply', '--file', file('tenants.yaml', document)],
      ['apply', '--file', file('tenants.yaml', document)],
      ['tenant', 'remove', ids.north],
      ['tenant', 'remove', ids.north, '--name', 'North & <South>'],
      ['tenant', 'list'],
    ],
    audit: [
      ['audit', 'list', '--limit', '3', '--after', '2'],
      ['audit', 'list', '--action', 'tenant limits'],
      ['audit', 'list', '--action', 'none'],
      ['audit', 'list', '--limit', '1', '--json'],
    ],
  }
  for (const [name, commands] of Object.entries(cases))
    await t.test(name, () => assertText(join(FOLDER, `${name}.txt`), each(scene, ...commands)))
})
