import { readFileSync } from 'node:fs'
import { type ReceiptKeySet, type ReceiptVerdict, verifyReceipt } from '@bonded/integrator'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { Argument, Command, Option } from 'commander'
import { jsonOption } from './arguments.ts'
import { fields, print } from './output.ts'

interface VerifyOptions {
  readonly jwks: string
  readonly issuer?: string
  readonly tenant?: string
  readonly json?: boolean
}

/** `bonded receipt`: verifies receipts without a service and without a network. */
export function receiptCommand(): Command {
  const command = new Command('receipt').description('Verify a receipt offline')
  command
    .command('verify')
    .description('Verify the signatures of the service and of the phone')
    .addArgument(new Argument('<file>', 'Receipt: the response of the service, or the JWS in it'))
    .addOption(
      new Option(
        '--jwks <file>',
        'Keys of the service: a copy of its /.well-known/jwks.json',
      ).makeOptionMandatory(),
    )
    .addOption(new Option('--issuer <origin>', 'Public origin that must have issued it'))
    .addOption(new Option('--tenant <tenant>', 'Tenant that it must be for (ten_…)'))
    .addOption(jsonOption())
    .action(async (file: string, { jwks, issuer, tenant, json }: VerifyOptions) => {
      const verdict = await verifyReceipt({
        receipt: receiptIn(textOf(file)),
        jwks: keySetIn(jwks),
        issuer,
        tenantId: tenant,
      })
      report(verdict, json)
    })
  return command
}

function report(verdict: ReceiptVerdict, json: boolean | undefined): void {
  if (verdict.decision === 'reject')
    throw new OperatorError(`The receipt does not verify: ${verdict.reason}`)
  const { claims } = verdict
  const shown = (claims.context?.display ?? []).map(({ label, value }) => `  ${label}: ${value}`)
  const summary = {
    session: claims.session_id,
    tenant: `${claims.tenant_name} (${claims.aud})`,
    workflow: claims.workflow,
    action: claims.action,
    state: claims.state,
    bonded_at: claims.bonded_at,
    completed_at: claims.completed_at,
    device_format: claims.device_format,
    assertion_band: claims.verification.assertion_band,
  }
  print({ json }, claims, ['The receipt verifies.', ...fields(summary), 'shown:', ...shown])
}

/** The JWS of a file: alone, or in the response of the service. */
function receiptIn(text: string): string {
  if (!text.startsWith('{')) return text
  const { receipt } = parsed(text) as { readonly receipt?: unknown }
  return typeof receipt === 'string' ? receipt : ''
}

function keySetIn(file: string): ReceiptKeySet {
  const found = parsed(textOf(file)) as Partial<ReceiptKeySet> | null
  if (Array.isArray(found?.keys)) return { keys: found.keys }
  throw new OperatorError(`${file} is not a JSON Web Key Set`, { code: 'invalid' })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new OperatorError(`${file} cannot be read`, { code: 'invalid', cause })
  }
}
