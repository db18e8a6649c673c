import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { until } from '../harness/process.ts'

const SHIPPED = resolve(import.meta.dirname, '../../deploy/prometheus')
/** Debian's name of the program, and the name that others have. */
const ALERTMANAGER = ['prometheus-alertmanager', 'alertmanager'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
)
const WITHIN_MS = 60_000

/** Why alerts cannot be computed on this machine; false if they can. */
export const MISSING =
  (ALERTMANAGER === undefined || spawnSync('promtool', ['--version']).status !== 0) &&
  'no promtool or no Alertmanager (apt-get install prometheus prometheus-alertmanager)'

/** The labels of an alert. */
export type Alert = Readonly<Record<string, string>>
/** The metrics of a node, a minute apart. Undefined where it did not answer. */
export type Scrapes = readonly (string | undefined)[]

/** What the load of the machine decides, and not the fault. */
const OF_THE_MACHINE =
  /^bonded_(event_loop_lag_seconds|database_round_trip_seconds|request_duration_seconds_(bucket|sum))/

/**
 * Evaluates the shipped rules over the scrapes with promtool.
 *
 * @param options.hasBackups whether the backup job reports that it works
 * @param options.isSlow whether to read latencies, because the fault is about them
 * @returns the alerts that fire, by minute
 */
export function firingAlerts(
  scrapes: Scrapes,
  { hasBackups = true, isSlow = false } = {},
): readonly (readonly Alert[])[] {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-alerts-'))
  try {
    const minutes = scrapes.map((_, minute) => `${minute}m`)
    const backups = hasBackups
      ? { 'backup_last_success_timestamp_seconds{job="bonded-backup"}': scrapes.map(() => '0') }
      : {}
    const series = { ...seriesOf(scrapes, isSlow), ...backups }
    const rules = {
      rule_files: [join(SHIPPED, 'alerts.yaml')],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: Object.entries(series).map(([name, values]) => ({
            series: name,
            values: values.join(' '),
          })),
          // promtool prints every sample that the test does not expect.
          promql_expr_test: minutes.map((eval_time) => ({
            expr: 'ALERTS{alertstate="firing"}',
            eval_time,
            exp_samples: [],
          })),
        },
      ],
    }
    const file = join(folder, 'scrapes.yaml')
    writeFileSync(file, JSON.stringify(rules))
    const { stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
    const found = new Map<number, readonly Alert[]>()
    for (const [, time = '', got = ''] of `${stdout}\n${stderr}`.matchAll(
      /time: (\w+),\s+exp:.*\s+got:(.*)/g,
    ))
      found.set(minutesOf(time), alertsIn(got))
    const isSilent = found.size === 0
    assert.match(`${stdout}${stderr}`, isSilent ? /SUCCESS/ : /FAILED/, `${stdout}\n${stderr}`)
    return minutes.map((_, minute) => found.get(minute) ?? [])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The values of each series, with the labels that Prometheus adds to those of a target. */
function seriesOf(scrapes: Scrapes, isSlow: boolean): Readonly<Record<string, readonly string[]>> {
  const series: Record<string, string[]> = {
    'up{job="bonded",instance="a:9464"}': scrapes.map((text) => (text === undefined ? '0' : '1')),
  }
  for (const [minute, text = ''] of scrapes.entries())
    for (const [, name = '', labels, value] of text.matchAll(
      /^(bonded_\w+)(?:\{(.*)\})? (-?[\d.e+-]+)$/gm,
    )) {
      if (!isSlow && OF_THE_MACHINE.test(name)) continue
      const own = labels === undefined ? '' : `${labels},`
      const key = `${name}{${own}job="bonded",instance="a:9464"}`
      const values = (series[key] ??= scrapes.map(() => '_'))
      // promtool reads no exponent.
      values[minute] = Number(value).toFixed(9)
    }
  return series
}

function minutesOf(time: string): number {
  const [, hours = '0', minutes = '0'] = /^(?:(\d+)h)?(?:(\d+)m)?/.exec(time) ?? []
  return Number(hours) * 60 + Number(minutes)
}

function alertsIn(got: string): readonly Alert[] {
  return [...got.matchAll(/\{__name__="ALERTS"[^}]*\}/g)].map(([text]) => {
    const labels = [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ])
    const { __name__: _, alertstate: __, ...alert } = Object.fromEntries(labels) as Alert
    return alert
  })
}

/** An Alertmanager with the shipped rules of inhibition. */
export class Alertmanager implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'bonded-alertmanager-'))
  readonly #url: string
  readonly #child: ChildProcess
  #asked = 0

  private constructor(port: number) {
    const config = parse(readFileSync(join(SHIPPED, 'alertmanager.yaml'), 'utf8'))
    // Shows that it has read every alert before it.
    config.inhibit_rules.push({
      source_matchers: ['alertname="Read"'],
      target_matchers: ['alertname="Last"'],
      equal: ['question'],
    })
    writeFileSync(join(this.#folder, 'alertmanager.yaml'), JSON.stringify(config))
    const address = `127.0.0.1:${port}`
    this.#url = `http://${address}`
    this.#child = spawn(
      ALERTMANAGER ?? '',
      [
        `--config.file=${join(this.#folder, 'alertmanager.yaml')}`,
        `--storage.path=${this.#folder}`,
        `--web.listen-address=${address}`,
        '--cluster.listen-address=',
        '--log.level=error',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
  }

  static async start(): Promise<Alertmanager> {
    const started = new Alertmanager(await freePort())
    await until(async () => {
      const reply = await fetch(`${started.#url}/-/ready`).catch(() => undefined)
      return reply?.ok === true ? true : undefined
    }, WITHIN_MS)
    return started
  }

  /** The alerts that it would send while these fire: those that no other one inhibits. */
  async sent(alerts: readonly Alert[]): Promise<readonly Alert[]> {
    const question = String(this.#asked++)
    const marks = ['Read', 'Last'].map((alertname) => ({ alertname, question }))
    await this.#post([...alerts, ...marks])
    const known = await until(async () => {
      const all = await this.#alerts()
      const last = all.find(({ labels }) => labels.question === question && isLast(labels))
      return last?.status.inhibitedBy.length === 1 ? all : undefined
    }, WITHIN_MS)
    await this.#post([...alerts, ...marks], new Date(1_000))
    return known
      .filter(({ labels, status }) => !labels.question && status.inhibitedBy.length === 0)
      .map(({ labels }) => labels)
  }

  async #post(alerts: readonly Alert[], endsAt?: Date): Promise<void> {
    const ended = endsAt && { startsAt: new Date(0), endsAt }
    const reply = await fetch(`${this.#url}/api/v2/alerts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(alerts.map((labels) => ({ labels, ...ended }))),
    })
    assert.equal(reply.status, 200, await reply.text())
  }

  async #alerts() {
    const reply = await fetch(`${this.#url}/api/v2/alerts`)
    return (await reply.json()) as readonly {
      readonly labels: Alert
      readonly status: { readonly inhibitedBy: readonly string[] }
    }[]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
    rmSync(this.#folder, { recursive: true })
  }
}

function isLast({ alertname }: Alert): boolean {
  return alertname === 'Last'
}
