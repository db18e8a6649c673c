import type { TenantId } from '@bonded/contract'
import { describeRequest, type SimulatedPhone } from '@bonded/simulator'
import type { Service } from '@bonded/core/operations/service'
import { write } from '@bonded/cli/program/output'
import { describeRun } from '../phone/describe-run.ts'
import { explain } from '../explain.ts'
import { newestCode } from './newest-code.ts'

const OUTCOME_OF_KEY = { a: 'approve', d: 'decline', n: 'not-me' } as const

interface Keys {
  readonly service: () => Service | undefined
  readonly tenantId: TenantId
  readonly phone: SimulatedPhone
}

/** The phone in the terminal: a key scans the newest QR code on the bank's page. */
export function listenForKeys(keys: Keys): void {
  const { stdin } = process
  stdin.setRawMode(true)
  stdin.on('data', (data) => {
    const key = String(data)
    if (key === '\u0003') return void process.kill(process.pid, 'SIGINT')
    const outcome = OUTCOME_OF_KEY[key as keyof typeof OUTCOME_OF_KEY]
    if (outcome === undefined) return
    stepUpNewest(keys, outcome).then(
      (lines) => write(lines.map((line) => `  ${line}\n`).join('')),
      (failure: unknown) => write(`  ${explain(failure).message}\n`),
    )
  })
}

async function stepUpNewest(
  { service, tenantId, phone }: Keys,
  outcome: 'approve' | 'decline' | 'not-me',
): Promise<readonly string[]> {
  const running = service()
  const code = running && (await newestCode(running, tenantId))
  if (code === undefined)
    return ['No QR code is shown. Open the bank and choose Continue to approval first.']
  const result = await phone.run(code.link, outcome, {
    waitForCompletion: outcome === 'approve',
    onShow: (session) => write(`\n${describeRequest(session).replaceAll(/^/gm, '    ')}\n\n`),
  })
  return describeRun(result)
}
