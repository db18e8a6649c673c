import { Command, InvalidArgumentError, Option } from 'commander'
import { jsonOption, wholeNumber } from '@bonded/cli/program/arguments'
import { print, table } from '@bonded/cli/program/output'
import { type ModeFigures, proveRelay, type ScenarioFigures } from './prove-relay.ts'
import type { Scenario } from './scenario.ts'
import { SCENARIOS } from './scenarios/scenarios.ts'

const MOST_ROUNDS = 1_000
/** The findings that a reader needs to see; a service without the proof has many. */
const SHOWN_FINDINGS = 20

/** A run that could not try everything ends with a code that no command of `bonded` has. */
export const EXIT_CODES = { relay_not_stopped: 1, relay_not_tried: 5 } as const

interface RelayFlags {
  readonly rounds: number
  readonly only: readonly Scenario[]
  readonly json?: boolean
}

/** `npm run prove:relay`. */
export function relayCommand(): Command {
  return new Command('npm run prove:relay --')
    .description(
      'Relay approvals in a browser, with and without the proof of the browser, and report which attack passes',
    )
    .addHelpText('after', HELP)
    .option('--rounds <number>', 'How often each attack is tried', wholeNumber(MOST_ROUNDS), 1)
    .addOption(
      new Option('--only <numbers>', 'Attacks to try, such as 3,7')
        .argParser(parseOnly)
        .default(SCENARIOS, 'all'),
    )
    .addOption(jsonOption())
    .action(run)
}

const HELP = `
The run needs Chromium: the one of the system, or the program that CHROMIUM_PATH names. It starts
services on new databases, deletes them at the end, and uses this machine's loopback addresses only.
It reads no settings, and never opens the database of a service.

WITHOUT and WITH are the results without and with require: ["browser"] in the workflow: how many
attempts pass, and what stops the others. A dash marks an attack on the proof itself.

Exit code 1: an attack passed with the requirement, was stopped by another check than the one that
is there for it, did not pass without the requirement, or the honest user (0) was stopped.
Exit code 5: no such result, but an attack broke before it ended, as on a busy machine. Run it again
with --only.`

async function run({ rounds, only, json }: RelayFlags): Promise<void> {
  const showsProgress = json !== true && process.stderr.isTTY
  const figures = await proveRelay({
    scenarios: only,
    rounds,
    onScenario(round, { number }) {
      if (showsProgress) process.stderr.write(`\rround ${round} of ${rounds}, attack ${number} …  `)
    },
  })
  if (showsProgress) process.stderr.write('\r\u001b[K')
  const findings = figures.flatMap((each) => each.findings)
  const untried = figures.flatMap((each) => each.untried)
  const error =
    findings.length > 0
      ? ({ code: 'relay_not_stopped', message: DIFFERS } as const)
      : untried.length > 0
        ? ({ code: 'relay_not_tried', message: notTried(untried) } as const)
        : undefined
  const ok = error === undefined
  const document = { ok, rounds, scenarios: figures.map(documentOf), ...(ok ? {} : { error }) }
  print({ json }, document, [...describe(figures), ...verdict(only, findings, untried)])
  if (error !== undefined) process.exitCode = EXIT_CODES[error.code]
}

const DIFFERS = 'A result differs from the expected one.'

function notTried(untried: readonly string[]): string {
  return `${untried.length} of the attempts broke before they ended, so they show nothing.`
}

function documentOf({ scenario, findings, untried, ...modes }: ScenarioFigures) {
  const { number, title, today } = scenario
  return {
    number,
    title,
    without: today ? modes.without : null,
    with: modes.with,
    findings,
    untried,
  }
}

function describe(figures: readonly ScenarioFigures[]): readonly string[] {
  const rows = figures.map((each) => ({
    '#': String(each.scenario.number).padStart(2),
    attack: each.scenario.title,
    without: each.scenario.today ? cell(each.without) : '-',
    with: cell(each.with),
  }))
  return table(['#', 'attack', 'without', 'with'], rows, 'No attacks.')
}

function cell({ attempts, passed, reasons }: ModeFigures): string {
  const share = `${passed} of ${attempts} pass`
  return reasons.length === 0 ? share : `${share}: ${reasons.join(', ')}`
}

/** Claims nothing of the scenarios that did not run. The honest user is scenario 0. */
export function verdict(
  tried: readonly Scenario[],
  findings: readonly string[],
  untried: readonly string[],
): readonly string[] {
  if (findings.length === 0 && untried.length === 0) {
    const attacks = tried.length < SCENARIOS.length ? 'every attack of this run' : 'every attack'
    const isUserTried = tried.some(({ number }) => number === 0)
    const user = isUserTried ? ', and the user is not' : ''
    return ['', `With the requirement, ${attacks} is stopped${user}.`]
  }
  return [
    ...(findings.length > 0 ? listed(findings, DIFFERS) : []),
    ...(untried.length > 0 ? listed(untried, notTried(untried)) : []),
  ]
}

function listed(sentences: readonly string[], meaning: string): readonly string[] {
  const hidden = sentences.length - SHOWN_FINDINGS
  return [
    '',
    ...sentences.slice(0, SHOWN_FINDINGS).map((sentence) => `  ${sentence}`),
    ...(hidden > 0 ? [`  and ${hidden} more`] : []),
    '',
    meaning,
  ]
}

function parseOnly(text: string): readonly Scenario[] {
  return text.split(',').map((number) => {
    const scenario = SCENARIOS.find((each) => String(each.number) === number)
    if (scenario === undefined)
      throw new InvalidArgumentError(`There is no attack ${number}. Expected numbers from 0 to 20.`)
    return scenario
  })
}
