import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseId, type SessionId, type TenantId } from '@bonded/contract'
import { describeRequest, testAuthorityIn } from '@bonded/simulator'
import { Command } from 'commander'
import { shownChallenge } from '../domain/challenge.ts'
import { awaitsPhone, stateAt } from '../domain/session.ts'
import { readConfig, type SettingFlags } from '../config.ts'
import { openLog } from '../log.ts'
import { createTenant, OperatorError } from '../operations/admin/tenants.ts'
import { noncesOf, type Service } from '../operations/service.ts'
import { type Options, print } from './open.ts'
import { phoneAt, tell } from './phone.ts'
import type { RunningService } from '../compose.ts'
import { closeOnSignal, serve } from './serve.ts'

/** Where the demo bank listens: beside the service. */
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

/** `bonded dev`: a service, a bank and a phone on one machine. In the repository only. */
export function devCommand(): Command {
  return new Command('dev')
    .description('Runs a sandbox on this machine: the service, a demo bank, a simulated phone.')
    .option('--json', 'print what to open as JSON; then no key is listened to')
    .action(async (options: Options) => {
      // Before the configuration counts, which finds the roots beside the data: the phone's makers are trusted here.
      const { dataDir, environment } = readConfig(process.env, options)
      if (environment === 'production')
        throw new OperatorError('bonded dev is a sandbox: unset BONDED_ENVIRONMENT')
      testAuthorityIn(dataDir)
      const config = readConfig(process.env, options)
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
    [welcome({ bank: bank.url, service: publicOrigin, keys })],
  )
  if (keys) listenForKeys(service, { demo, options })
  closeOnSignal(running, { [Symbol.asyncDispose]: () => bank.close() })
}

function welcome({
  bank,
  service,
  keys,
}: {
  bank: string
  service: string
  keys: boolean
}): string {
  return [
    '',
    '  Bonded Sessions, sandbox',
    '',
    `  Open       ${bank}`,
    '  Approve    ' +
      (keys
        ? 'press  a  here once the code is on the page (d declines, n says “not me”)'
        : 'npx bonded phone approve --qr <a screenshot, or the address behind “Can’t scan?”>'),
    ...(keys
      ? [
          '             or: npx bonded phone approve --qr <a screenshot, or the address behind “Can’t scan?”>',
        ]
      : []),
    '',
    `  Service    ${service} (pid ${process.pid}), API at ${service}/api/v1/openapi.json`,
    '  Stop       Ctrl+C',
    '',
  ].join('\n')
}

/** The demo tenant: kept across starts, with its credentials where only their owner reads them. */
async function demoTenant(
  service: Service,
  { dataDir, bankOrigin }: { dataDir: string; bankOrigin: string },
): Promise<Demo> {
  const file = join(dataDir, 'demo.json')
  if (existsSync(file)) {
    const kept = JSON.parse(readFileSync(file, 'utf8')) as Demo
    const tenantId = parseId('ten', kept.tenant_id)
    const known = tenantId && (await service.store.read((tables) => tables.tenants.find(tenantId)))
    if (known !== undefined && kept.bank_origin === bankOrigin) return kept
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
  // Whole or not at all, also where the disk is full.
  writeFileSync(`${file}.draft`, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.draft`, file)
  return demo
}

async function startDemoBank(
  demo: Demo,
  serviceOrigin: string,
): Promise<{ url: string; close(): Promise<void> }> {
  // Only the repository has the examples; an installed service has no bank to show.
  const example = await import('@bonded/example-bank').catch((cause: unknown) => {
    throw new OperatorError('bonded dev runs in the repository only; use bonded serve', { cause })
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

/** The phone in the terminal: a key scans the newest code on the bank's page. */
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
      (line) => process.stdout.write(`  ${line}\n`),
      (failure: unknown) =>
        process.stdout.write(
          `  The phone failed: ${failure instanceof Error ? failure.message : String(failure)}\n`,
        ),
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
): Promise<string> {
  const now = service.clock.now()
  const [newest] = (
    await service.store.read((tables) => tables.sessions.recent(tenantId, 5))
  ).filter((session) => awaitsPhone(session, now))
  if (newest === undefined || stateAt(newest, now) !== 'pending')
    return 'No code is on show. Fill the form and continue to the approval first.'
  const link = linkOf(service, {
    id: newest.id,
    nonce: noncesOf(service, newest).nonceAt(shownChallenge(newest, now).index),
  })
  const result = await phoneAt(options).run(link, outcome, {
    waitForCompletion: outcome === 'approve',
    onShow: (session) =>
      void process.stdout.write(`\n${describeRequest(session).replaceAll(/^/gm, '    ')}\n\n`),
  })
  return tell(result)
}

function linkOf({ settings }: Service, { id, nonce }: { id: SessionId; nonce: string }): string {
  return `${settings.publicOrigin}/bond?session_id=${id}&nonce=${nonce}`
}
