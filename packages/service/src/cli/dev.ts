import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseId, type SessionId, type TenantId } from '@bonded/contract'
import { describeRequest, loadTestAuthority } from '@bonded/simulator'
import { Command } from 'commander'
import { shownChallenge } from '../domain/challenge.ts'
import { awaitsPhone, stateAt } from '../domain/session.ts'
import { readConfig, type SettingFlags } from '../config.ts'
import { openLog } from '../log.ts'
import { OperatorError } from '../operations/admin/operator-error.ts'
import { createTenant } from '../operations/admin/tenants.ts'
import { noncesOf, type Service } from '../operations/service.ts'
import type { RunningService } from '../compose.ts'
import { VERSION } from '../version.ts'
import { jsonOption } from './arguments.ts'
import { explain } from './explain.ts'
import { describeRun } from './describe-run.ts'
import type { Options } from './open.ts'
import { print } from './output.ts'
import { phoneAt } from './phone.ts'
import { closeOnSignal, serve } from './serve.ts'

/** The port of the demo bank, next to the service's. */
const BANK_PORT = 8788
const WORKFLOW = {
  name: 'credit_application',
  actions: ['submit_application'],
  passport: 'optional',
} as const

interface Demo {
  readonly tenant_id: string
  readonly publishable_key: string
  readonly server_credential: string
  readonly bank_origin: string
}

/** `bonded dev`: a service, a demo bank and a phone on one machine. Works in the repository only. */
export function devCommand(): Command {
  return new Command('dev')
    .description('Run a sandbox on this machine: the service, a demo bank and a simulated phone')
    .addOption(jsonOption('Print the addresses as JSON, and read no keys'))
    .action(async (options: Options) => {
      // The test roots are created first: reading the configuration then trusts the simulated phone.
      const { dataDir, environment } = readConfig(process.env, options)
      if (environment === 'production')
        throw new OperatorError('bonded dev runs a sandbox. Unset BONDED_ENVIRONMENT', {
          code: 'invalid',
        })
      loadTestAuthority(dataDir)
      const config = readConfig(inDev(process.env), options)
      const running = await serve(
        config,
        openLog('error', options.json === true ? 'stderr' : 'stdout'),
      )
      try {
        await showSandbox(running, { options, dataDir: config.dataDir })
      } catch (failure) {
        await running[Symbol.asyncDispose]()
        throw failure
      }
    })
}

/** A camera opens the universal link, so that a phone without the app reaches the phone page. */
function inDev(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { BONDED_QR_CONTENT: 'universal_link', ...environment }
}

async function showSandbox(
  running: RunningService,
  { options, dataDir }: { options: Options; dataDir: string },
): Promise<void> {
  const { service } = running
  const { publicOrigin } = service.settings
  const bankOrigin = `http://localhost:${process.env.BANK_PORT ?? BANK_PORT}`
  const demo = await demoTenant(service, { dataDir, bankOrigin })
  const bank = await startDemoBank(demo, publicOrigin)
  const keys = process.stdin.isTTY && options.json !== true
  print(
    options,
    { bank: bank.url, service: publicOrigin, pid: process.pid, tenant_id: demo.tenant_id },
    welcome({ bank: bank.url, service: publicOrigin, keys }).split('\n'),
  )
  if (keys) listenForKeys(service, { demo, options })
  closeOnSignal(options, running, { [Symbol.asyncDispose]: () => bank.close() })
}

function welcome(facts: { bank: string; service: string; keys: boolean }): string {
  const { bank, service, keys } = facts
  const byCommand = 'npx bonded phone approve --qr <a screenshot, or the link behind “Can’t scan?”>'
  return [
    '',
    `  Bonded Sessions ${VERSION}, sandbox`,
    '',
    `  Open       ${bank}`,
    '             Fill in the form and choose Continue to approval. A QR code appears.',
    ...(keys
      ? [
          '  Approve    Press a here to approve, d to decline, n for “not me”.',
          `             Or run: ${byCommand}`,
        ]
      : [`  Approve    ${byCommand}`]),
    '',
    `  Service    ${service}`,
    `  API        ${service}/api/v1/openapi.json`,
    `  Process    ${process.pid}`,
    '  Stop       Ctrl+C',
    '',
  ].join('\n')
}

/** The demo tenant. Its credentials are stored across starts, readable by their owner only. */
async function demoTenant(
  service: Service,
  { dataDir, bankOrigin }: { dataDir: string; bankOrigin: string },
): Promise<Demo> {
  const file = join(dataDir, 'demo.json')
  if (existsSync(file)) {
    const stored = JSON.parse(readFileSync(file, 'utf8')) as Demo
    const tenantId = parseId('ten', stored.tenant_id)
    const known = tenantId && (await service.store.read((tables) => tables.tenants.find(tenantId)))
    if (known !== undefined && stored.bank_origin === bankOrigin) return stored
  }
  const { tenant, publishableKey, serverCredential } = await createTenant(service, {
    name: 'Harbour Bank (demo)',
    environment: 'sandbox',
    origins: [bankOrigin],
    workflows: [{ ...WORKFLOW, actions: [...WORKFLOW.actions] }],
    demo: true,
  })
  const demo = {
    tenant_id: tenant.id,
    publishable_key: publishableKey,
    server_credential: serverCredential.reveal(),
    bank_origin: bankOrigin,
  }
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  // Renaming makes the write atomic, even on a full disk.
  writeFileSync(`${file}.draft`, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.draft`, file)
  return demo
}

async function startDemoBank(
  demo: Demo,
  serviceOrigin: string,
): Promise<{ url: string; close(): Promise<void> }> {
  // Only the repository has the examples.
  const example = await import('@bonded/example-bank').catch((cause: unknown) => {
    throw new OperatorError('bonded dev works in the repository only. Use bonded serve', { cause })
  })
  return example.startBank({
    port: Number(new URL(demo.bank_origin).port),
    serviceOrigin,
    serverCredential: demo.server_credential,
    publishableKey: demo.publishable_key,
    tenantId: demo.tenant_id,
  })
}

const OUTCOME_OF_KEY = { a: 'approve', d: 'decline', n: 'not-me' } as const

/** The phone in the terminal: a key scans the newest QR code on the bank's page. */
function listenForKeys(
  service: Service,
  { demo, options }: { demo: Demo; options: SettingFlags },
): void {
  const { stdin } = process
  stdin.setRawMode(true)
  stdin.on('data', (data) => {
    const key = String(data)
    if (key === '\u0003') return void process.kill(process.pid, 'SIGINT')
    const outcome = OUTCOME_OF_KEY[key as keyof typeof OUTCOME_OF_KEY]
    if (outcome === undefined) return
    playOnNewest(service, { tenantId: demo.tenant_id as TenantId, outcome, options }).then(
      (lines) => process.stdout.write(lines.map((line) => `  ${line}\n`).join('')),
      (failure: unknown) => process.stdout.write(`  ${explain(failure).message}\n`),
    )
  })
}

async function playOnNewest(
  service: Service,
  {
    tenantId,
    outcome,
    options,
  }: { tenantId: TenantId; outcome: 'approve' | 'decline' | 'not-me'; options: SettingFlags },
): Promise<readonly string[]> {
  const now = service.clock.now()
  const [newest] = (
    await service.store.read((tables) => tables.sessions.list({ tenantId, limit: 5 }))
  ).filter((session) => awaitsPhone(session, now))
  if (newest === undefined || stateAt(newest, now) !== 'pending')
    return ['No QR code is shown. Fill in the form and choose Continue to approval first.']
  const link = linkOf(service, {
    id: newest.id,
    nonce: noncesOf(service, newest).nonceAt(shownChallenge(newest, now).index),
  })
  const result = await phoneAt(options).run(link, outcome, {
    waitForCompletion: outcome === 'approve',
    onShow: (session) =>
      void process.stdout.write(`\n${describeRequest(session).replaceAll(/^/gm, '    ')}\n\n`),
  })
  return describeRun(result)
}

function linkOf({ settings }: Service, { id, nonce }: { id: SessionId; nonce: string }): string {
  return `${settings.publicOrigin}/bond?session_id=${id}&nonce=${nonce}`
}
