import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ROOT } from '../../scripts/site/documents.ts'
import { DETAILS } from '../../packages/ciba/tests/harness.ts'
import { CLIENT } from '../../packages/console/tests/honest-provider.ts'
import { until } from '../harness/process.ts'
import { ORIGINS } from '../machines/visitors.ts'
import { typed } from '../samples/replacements.ts'
import { samplesOf } from '../samples/samples.ts'
import { must } from './booted-machine.ts'
import {
  AUTHORITY,
  during,
  nameMachine,
  type Operated,
  startProxy,
  visitorsOf,
  WITHIN_MS,
} from './booted-parts.ts'

const CONSOLE = 'operate/console.md'
const WORKFLOWS = [
  { name: 'page', actions: ['act'] },
  { name: 'agent_payments', actions: ['transfer'], delivery: 'inbox' },
]

/** A user, a client of the OpenID provider, and an operator of the console, all behind nginx. */
export async function serveUsers(
  t: TestContext,
  { machine, take, asRoot, ready, entriesAfter }: Operated,
): Promise<void> {
  const { run, login } = machine
  const put = (path: string, { text, mode }: { text: string; mode: string }) =>
    must(run(`install -g bonded -m ${mode} /dev/null ${path}; cat > ${path}`, text))
  const reached = (address: string) =>
    until(async () => {
      const { status, stdout } = await run(`curl -fs --cacert ${AUTHORITY} ${address}`)
      return status === 0 ? stdout : undefined
    }, WITHIN_MS)
  await nameMachine(machine)
  await startProxy(machine)
  await must(run(`echo NODE_EXTRA_CA_CERTS=${AUTHORITY} >> /etc/bonded/bonded.env`))
  await using visitors = visitorsOf(machine)
  const create = `tenant create --name users --environment sandbox --origin https://a.example --json`
  const created = login(
    'alice',
    `sudo bonded ${create} --workflow-file -`,
    JSON.stringify(WORKFLOWS),
  )
  const { tenant_id: TENANT, server_credential: credential } = JSON.parse(await must(created)) as {
    readonly tenant_id: string
    readonly server_credential: string
  }
  let SUBJECT_REF = ''

  await t.test('doctor finds no problem behind the shipped nginx, and a user bonds', async () => {
    assert.doesNotMatch(await must(run('bonded doctor')), /^PROBLEM/m)
    SUBJECT_REF = await visitors.ask('bond', credential)
  })

  await t.test('a passkey of this machine is enrolled at the console', async () => {
    await during(machine, { block: take(CONSOLE, '--enroll') }, async (printed) => {
      const address = await until(async () => {
        const [found] = /http:\/\/localhost:8450\/enroll\/\S+/.exec(await printed()) ?? []
        return found
      }, WITHIN_MS)
      assert.match(await reached(address), /Create a passkey/)
    })
  })

  await t.test('the console signs an operator in, as a command and as a unit', async () => {
    const issuer = await visitors.ask('startSignIn', 'bonded-console')
    const files = {
      'access.yaml': take(CONSOLE, 'client_secret', { 'https://login.example.com': issuer }),
      'client-secret': CLIENT.client_secret,
    }
    const write = async (folder: string, mode: string) => {
      await must(run(`install -d -m 0750 -g bonded ${folder}`))
      for (const [file, text] of Object.entries(files))
        await put(`${folder}/${file}`, { text, mode })
    }
    const signIn = async () => {
      await reached(`${ORIGINS.console}/health/alive`)
      const page = await visitors.ask('visit', `${ORIGINS.console}/tenants/${TENANT}`)
      assert.match(page, /^200 .*users/s)
    }
    await write('/srv/console', '0640')
    await during(machine, { block: take(CONSOLE, '--access'), folder: '/srv/console' }, signIn)
    await write('/etc/bonded/console', '0600')
    await must(run(tabled(CONSOLE, 'systemctl enable --now bonded-console')))
    await signIn()
    const signIns = (await entriesAfter(0)).filter(({ action }) => action === 'console sign-in')
    const expected = ['ada', 'console', issuer, '127.0.0.1', 'success'].join()
    assert.deepEqual(
      signIns.map((each) =>
        [each.actor, each.actor_kind, each.issuer, each.address, each.result].join(),
      ),
      [expected, expected],
    )
  })

  await t.test('the unit of the OpenID provider answers a client with an approval', async () => {
    const guide = 'docs/guides/approve-with-openid.md'
    const sample = samplesOf(guide).find(({ language }) => language === 'yaml')
    assert.ok(sample)
    const config = typed(sample, {
      'http://localhost:8790': ORIGINS.provider,
      'http://localhost:8787': ORIGINS.service,
      'http://localhost:8791': 'https://bank.example.com',
      'ciba.db': '/var/lib/bonded-ciba/ciba.db',
      'ciba-keys.json': '/var/lib/bonded-ciba/ciba-keys.json',
      PUBLIC_KEY: await visitors.ask('key'),
      SUBJECT_REF,
    })
    await must(run('cat > /etc/bonded/ciba.yaml', config))
    const env = `BONDED_SERVER_CREDENTIAL=${credential}\nNODE_EXTRA_CA_CERTS=${AUTHORITY}\n`
    await put('/etc/bonded/ciba.env', { text: env, mode: '0600' })
    await must(run(tabled('approve-with-openid.md', 'systemctl enable --now bonded-ciba')))
    await reached(`${ORIGINS.provider}/health/alive`)
    assert.deepEqual(JSON.parse(await visitors.ask('approve')), [DETAILS])
  })

  await t.test('the guide exports the data of the user, and erases it', async () => {
    const name = `--subject-ref ${SUBJECT_REF} --tenant ${TENANT}`
    const show = () => login('alice', `sudo bonded subject show ${name} --json`)
    const { subject_id: SUBJECT } = JSON.parse(await must(show())) as { subject_id: string }
    const variables = { SUBJECT_REF, TENANT, SUBJECT }
    const exported = take('operate/personal-data.md', 'subject export')
    const whole = JSON.parse(await must(asRoot('alice', exported, variables)))
    const own = JSON.parse(await must(run('cat /home/alice/copy.json')))
    for (const copy of [whole, own]) assert.equal(copy.session.length, 2)
    await must(asRoot('alice', take('operate/personal-data.md', 'subject erase'), variables))
    assert.notEqual((await show()).status, 0)
    await ready()
  })
}

/** A command of a table of a guide. */
function tabled(guide: string, command: string): string {
  assert.ok(
    readFileSync(join(ROOT, 'docs/guides', guide), 'utf8').includes(`\`${command}\``),
    command,
  )
  return command
}
