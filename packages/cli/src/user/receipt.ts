import {
  GateError,
  type LogVerdict,
  type ReceiptClaims,
  type ReceiptKeySet,
  verifyConsistency,
  verifyQuorum,
  verifyReceipt,
} from '@bonded/integrator'
import {
  verifyWitnessedQuorum,
  verifyWitnessedReceipt,
  verifyWitnesses,
  type WitnessedVerdict,
  type WitnessPolicy,
} from '@bonded/integrator/witnesses'
import type { SessionId } from '@bonded/contract'
import { beginLogAsOperator } from '@bonded/core/operations/admin/begin-receipt-log'
import { findReceipt } from '@bonded/core/operations/admin/find-receipt'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { Argument, Command, Option } from 'commander'
import { jsonOption, sessionArgument } from '../program/arguments.ts'
import { checkReceipt } from './checked-receipt.ts'
import { textOf } from '../program/given-file.ts'
import { type Options, withService } from '../program/open.ts'
import { fields, print } from '../program/output.ts'

interface VerifyLogOptions extends VerifyOptions {
  readonly proof: string
  readonly closed?: string
}

interface VerifyOptions {
  readonly jwks: string
  readonly issuer?: string
  readonly audience?: string
  readonly session?: string
  readonly minimum?: number
  readonly workflow?: string
  readonly digest?: string
  readonly json?: boolean
  readonly witness?: readonly string[]
  readonly requireWitnesses?: number
}

/** `bonded receipt`: prints receipts, and verifies them without a service and a network. */
export function receiptCommand(): Command {
  const command = new Command('receipt').description('Print and verify receipts')
  command.addCommand(getCommand())
  command.addCommand(newEpochCommand())
  command
    .command('verify')
    .description('Verify the signatures of the service and of the phone')
    .addArgument(
      new Argument(
        '<files...>',
        'Receipt: the response of the service, or the JWS in it. Several are verified as a quorum',
      ),
    )
    .addOption(keysOption())
    .addOption(new Option('--issuer <origin>', 'Public origin that must have issued it'))
    .addOption(new Option('--audience <tenant>', 'Tenant that it must be for (ten_…)'))
    .addOption(new Option('--session <session>', 'Session that it must be for (sess_…)'))
    .addOption(new Option('--minimum <number>', MINIMUM).argParser(Number))
    .addOption(new Option('--workflow <name>', 'Of a quorum: workflow that it must be for'))
    .addOption(new Option('--digest <digest>', 'Of a quorum: digest of the approved context'))
    .addOption(witnessOption())
    .addOption(requiredOption())
    .action(async (files: [string, ...string[]], options: VerifyOptions) => {
      const { jwks, issuer, audience, session, json, minimum, workflow, digest } = options
      if (files.length > 1 || minimum !== undefined || (workflow ?? digest) !== undefined)
        return verifyFiles(files, options)
      const [file] = files
      const given = {
        ...receiptIn(textOf(file).trim()),
        jwks: keySetIn(jwks),
        issuer,
        tenantId: audience,
        sessionId: session,
      }
      const policy = witnessPolicy(options)
      report(
        policy === undefined
          ? await verifyReceipt(given)
          : await verifyWitnessedReceipt({ ...given, ...policy }).catch(asOperatorError),
        json,
      )
    })
  command.addCommand(verifyLogCommand())
  return command
}

const MINIMUM = 'Of a quorum: how many people had to approve at least'

async function verifyFiles(files: readonly string[], options: VerifyOptions): Promise<void> {
  const { jwks, issuer, audience: tenantId, session, json, minimum, workflow, digest } = options
  if (!(minimum && tenantId && workflow && digest) || session !== undefined)
    throw new OperatorError(
      'Receipts are verified as a quorum with --minimum, --audience, --workflow and --digest, and without --session',
      { code: 'invalid' },
    )
  const receipts = files.map((file) => receiptIn(textOf(file).trim()))
  const expected = { jwks: keySetIn(jwks), issuer, minimum, tenantId, workflow, digest }
  const policy = witnessPolicy(options)
  const verdict =
    policy === undefined
      ? await verifyQuorum(receipts, expected)
      : await verifyWitnessedQuorum(receipts, { ...expected, ...policy }).catch(asOperatorError)
  if (verdict.decision === 'reject')
    throw new OperatorError(`The quorum does not verify: ${verdict.reason}`)
  const all = verdict.receipts.map(({ claims }) => claims)
  const { id, needed, of } = verdict.rule
  const [first] = all
  const summary = {
    quorum: id,
    tenant: first && `${first.tenant_name} (${first.aud})`,
    workflow,
    action: first?.action,
    requester: requesterIn(first?.context),
  }
  print({ json }, { rule: verdict.rule, receipts: all }, [
    `The quorum verifies: ${needed} of ${of} people had to approve, and ${all.length} did.`,
    ...fields(summary),
    'approved by:',
    ...all.map((each) => `  ${each.subject_ref}, ${each.bonded_at}, ${each.session_id}`),
    'shown:',
    ...linesOf(first?.context),
  ])
}

function verifyLogCommand(): Command {
  return new Command('verify-log')
    .description('Verify that the log only grew between two checkpoints')
    .addArgument(new Argument('<older>', 'Checkpoint that you stored'))
    .addArgument(new Argument('<newer>', 'Later checkpoint of the same log'))
    .addOption(
      new Option(
        '--proof <file>',
        'Response of /receipts/log/consistency/<older size>/<newer size>',
      ).makeOptionMandatory(),
    )
    .addOption(keysOption())
    .addOption(
      new Option(
        '--closed <file>',
        'Response of /receipts/log/closed, where the checkpoints are of two logs',
      ),
    )
    .addOption(witnessOption())
    .addOption(requiredOption())
    .action(async (older: string, newer: string, options: VerifyLogOptions) => {
      const verdict = await verifyConsistency({
        older: textOf(older),
        newer: textOf(newer),
        proof: textOf(options.proof),
        jwks: keySetIn(options.jwks),
        closed: options.closed && textOf(options.closed),
      })
      if (verdict.decision === 'reject') throw new OperatorError(problemOf(verdict))
      const policy = witnessPolicy(options)
      const witnessed =
        policy && (await verifyWitnesses(textOf(newer), policy).catch(asOperatorError))
      if (witnessed?.decision === 'reject')
        throw new OperatorError(`The newer checkpoint does not verify: ${witnessed.reason}`)
      const { origin, size } = verdict.checkpoint
      print(options, { origin, size }, [`The log only grew: ${origin}, ${size} entries.`])
    })
}

function problemOf({ reason, closed }: Extract<LogVerdict, { decision: 'reject' }>): string {
  if (closed !== undefined) {
    const { origin, continuedBy, entries, closedAt } = closed
    return `The service closed the log ${origin} at ${closedAt} with ${entries} entries (${closed.reason}), and ${continuedBy} continues it. Your checkpoint has more entries: the service has lost those after ${entries}. A receipt of them verifies with the proof that you stored. Compare later checkpoints with one of the new log`
  }
  if (reason === 'log_mismatch')
    return 'The checkpoints are of two logs (log_mismatch). A service closes its log after a restore or a failover. Fetch its /receipts/log/closed, and pass the file as --closed'
  return `The log does not verify: ${reason}`
}

function newEpochCommand(): Command {
  return new Command('new-epoch')
    .description('Close the log of receipts after a loss of entries, and begin another one')
    .action(async (options: Options) => {
      const begun = await withService(options, (service) => beginLogAsOperator(service, 'operator'))
      print(options, begun, [
        `Closed the log ${begun.closed} with ${begun.entries} entries.`,
        `The log ${begun.origin} continues it. Tell your tenants, and the operators of the witnesses.`,
      ])
    })
}

function getCommand(): Command {
  return new Command('get')
    .description('Print the receipt of a session; it outlives the session')
    .addArgument(sessionArgument())
    .option('--verify', 'Verify it with the keys of this service, and print what it says')
    .addOption(jsonOption('Print the JSON document of the API, with the proof of the log'))
    .action(async (id: SessionId, options: Options & { readonly verify?: true }) => {
      if (options.verify === true) {
        const { verdict } = await withService(options, (service) => checkReceipt(service, id))
        return report(verdict, options.json)
      }
      const { jws, proof } = await withService(options, (service) => findReceipt(service, id))
      print(options, { receipt: jws, proof }, [jws])
    })
}

const keysOption = () =>
  new Option(
    '--jwks <file>',
    'Keys of the service: a copy of its /.well-known/jwks.json',
  ).makeOptionMandatory()

const witnessOption = () =>
  new Option(
    '--witness <key...>',
    'Verifier keys of witnesses that must have cosigned the checkpoint',
  )

const requiredOption = () =>
  new Option(
    '--require-witnesses <number>',
    'How many of them must have cosigned (default: all)',
  ).argParser(Number)

function witnessPolicy({ witness, requireWitnesses }: VerifyOptions): WitnessPolicy | undefined {
  if (witness !== undefined) return { witnesses: witness, required: requireWitnesses }
  if (requireWitnesses === undefined) return undefined
  throw new OperatorError('--require-witnesses needs --witness', { code: 'invalid' })
}

/** The mistake of the caller in its key. */
function asOperatorError(failure: unknown): never {
  if (!(failure instanceof GateError)) throw failure
  throw new OperatorError(failure.message, { code: 'invalid' })
}

function report(verdict: WitnessedVerdict, json: boolean | undefined): void {
  if (verdict.decision === 'reject')
    throw new OperatorError(
      verdict.reason === 'one_of_several'
        ? 'The receipt is of one approval of several (one_of_several): verify the receipts of all users who approved together'
        : `The receipt does not verify: ${verdict.reason}`,
    )
  const { claims, checkpoint } = verdict
  const summary = {
    session: claims.session_id,
    tenant: `${claims.tenant_name} (${claims.aud})`,
    workflow: claims.workflow,
    action: claims.action,
    requester: requesterIn(claims.context),
    state: claims.state,
    bonded_at: claims.bonded_at,
    completed_at: claims.completed_at,
    device_format: claims.device_format,
    assertion_band: claims.verification.assertion_band,
    log: checkpoint && `${checkpoint.origin}, ${checkpoint.size} entries`,
  }
  const shown = linesOf(claims.context)
  print({ json }, claims, ['The receipt verifies.', ...fields(summary), 'shown:', ...shown])
}

type Shown = ReceiptClaims['context'] | undefined

function requesterIn(context: Shown): string | undefined {
  const { kind, name, detail } = context?.requester ?? {}
  return name && [kind, name, detail].filter(Boolean).join(', ')
}

/** What else the phone showed. */
function linesOf(context: Shown): readonly string[] {
  const { display = [], text } = context ?? {}
  return [
    ...display.map(({ label, value }) => `  ${label}: ${value}`),
    ...(text === undefined ? [] : text.split('\n').map((line) => `  | ${line}`)),
  ]
}

/** The receipt of a file: the JWS alone, or with its proof in the response of the service. */
function receiptIn(text: string): { receipt: string; proof?: string } {
  if (!text.startsWith('{')) return { receipt: text }
  const { receipt, proof } = (parsed(text) ?? {}) as Record<string, unknown>
  return {
    receipt: typeof receipt === 'string' ? receipt : '',
    ...(typeof proof === 'string' ? { proof } : {}),
  }
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
