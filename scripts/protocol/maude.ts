import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'

/** The last file of each model, which loads the others. */
const MODELS = {
  proofs: resolve(import.meta.dirname, '../../proofs/models/reductions.maude'),
  inbox: resolve(import.meta.dirname, '../../proofs/models/inbox.maude'),
  quorum: resolve(import.meta.dirname, '../../proofs/models/quorum.maude'),
}

/** One question to the model. `proofs/models/README.md` explains the settings. */
export interface Search {
  /** What is asked, in plain English. */
  readonly name: string
  /** The model of both proofs, unless the search is for another one. */
  readonly model?: 'inbox' | 'quorum'
  /** The variant of the protocol, and the planted fault if there is one. */
  readonly settings: string
  /** The largest number of sessions in a run, or of quorums. */
  readonly sessions: number
  /** The state to look for: a broken promise, unless the search is for something else. */
  readonly goal: string
  readonly expected: 'found' | 'nothing'
}

export interface Result {
  readonly found: boolean
  /** States that the search visited. Without a finding, these are all that can be reached. */
  readonly states: number
  /** CPU time in seconds. */
  readonly seconds: number
  /** The moves of a shortest run that reaches the goal, which takes a second search. */
  readonly moves: () => Promise<readonly string[]>
}

/** Whether Debian's package `maude` is installed. */
export function hasMaude(): boolean {
  return spawnSync('maude', ['--version']).status === 0
}

/**
 * Searches all runs of the model, breadth first.
 *
 * @throws Error if Maude fails or prints anything but a result, so that a mistake in the model or
 * in a goal never counts as "nothing found".
 */
export async function search({ model, settings, sessions, goal }: Search): Promise<Result> {
  const command = `search [1] start(${sessions}, ${settings}) =>* { F:Settings | ${goal} M:Conf } .`
  const file = MODELS[model ?? 'proofs']
  const output = await maude(file, command)
  const counted = /^states: (\d+) {2}rewrites: \d+ in (\d+)ms cpu/m.exec(output)
  const found = /^Solution 1 \(state (\d+)\)$/m.exec(output)
  const isExhausted = /^No solution\.$/m.test(output)
  if (counted === null || (found !== null) === isExhausted || /Warning|Error/.test(output))
    throw new Error(`Maude did not answer ${command}\n${output}`)
  const [, states, milliseconds] = counted
  return {
    found: found !== null,
    states: Number(states),
    seconds: Number(milliseconds) / 1000,
    moves: async () => (found === null ? [] : movesTo(file, command, Number(found[1]))),
  }
}

/** The labels of the rules on the path to a state. */
async function movesTo(file: string, command: string, state: number): Promise<readonly string[]> {
  const output = await maude(file, `${command}\nshow path labels ${state} .`)
  return output.split('\n').filter((line) => /^[a-z]+(?:-[a-z]+)+$/.test(line))
}

async function maude(file: string, commands: string): Promise<string> {
  const child = spawn('maude', ['-no-banner', '-no-advise', '-no-wrap', '-no-ansi-color', file], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(`${commands}\nquit\n`)
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return stdout + stderr
}
