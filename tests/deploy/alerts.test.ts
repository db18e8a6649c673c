import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { exportedMetrics, metricOf, unknownIn } from './metric-names.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook_url: string }
}
interface RuleTest {
  readonly alert_rule_test: readonly { alertname: string; exp_alerts: readonly unknown[] }[]
}

const RULE_TESTS = ['alerts.test.yaml', 'retention.test.yaml']

const { groups } = parse(read('deploy/prometheus/alerts.yaml')) as {
  groups: readonly { rules: readonly Rule[] }[]
}
const rules = groups.flatMap((group) => group.rules)
const exported = await exportedMetrics()

test('every alert reads only metrics and label values that the service exports', () => {
  assert.ok(rules.length > 10, 'the rules were found')
  for (const { alert, expr } of rules) assert.deepEqual(unknownIn(expr, exported), [], alert)
})

test('every alert has a severity and a runbook, and every runbook an alert', () => {
  const runbooks = [...read('docs/guides/operate/alerts.md').matchAll(/^## (.+)$/gm)]
  assert.deepEqual(
    runbooks.map(([, heading = '']) => heading).toSorted(),
    rules.map(({ alert }) => alert).toSorted(),
  )
  for (const { alert, labels, annotations } of rules) {
    assert.match(labels.severity, /^(?:page|ticket)$/, alert)
    assert.equal(
      annotations.runbook_url,
      `docs/guides/operate/alerts.md#${alert.toLowerCase()}`,
      alert,
    )
  }
})

test('every runbook names the cause first', () => {
  const sections = read('docs/guides/operate/alerts.md').split(/^## /m).slice(1)
  for (const section of sections)
    assert.match(section, /^\w+\n\n\*\*Cause:\*\* [^\n]{20,}\.\n/, section.slice(0, 60))
})

test('every alert has a test in which it fires and one in which it stays silent', () => {
  const cases = RULE_TESTS.flatMap(
    (file) => (parse(read(`deploy/prometheus/${file}`)) as { tests: readonly RuleTest[] }).tests,
  ).flatMap(({ alert_rule_test }) => alert_rule_test)
  for (const { alert } of rules) {
    const own = cases.filter(({ alertname }) => alertname === alert)
    for (const fires of [true, false])
      assert.ok(
        own.some(({ exp_alerts }) => exp_alerts.length > 0 === fires),
        alert,
      )
  }
})

test('every cause of a failure has an alert', () => {
  const causes = [...(exported.values.get('bonded_failures_total cause') ?? [])]
  // A node that shuts down on purpose.
  const planned = ['draining']
  const read = rules.flatMap(({ expr }) =>
    [...expr.matchAll(/bonded_failures_total\{cause=~?"([^"]*)"/g)].flatMap(([, list = '']) =>
      list.split('|'),
    ),
  )
  assert.deepEqual([...planned, ...read].toSorted(), causes.toSorted())
})

interface Inhibition {
  readonly source_matchers: readonly string[]
  readonly target_matchers: readonly string[]
}

test('every rule of inhibition names alerts, and no ticket mutes a page', () => {
  const { inhibit_rules } = parse(read('deploy/prometheus/alertmanager.yaml')) as {
    inhibit_rules: readonly Inhibition[]
  }
  const severitiesOf = (matchers: readonly string[]) => {
    const names = /^alertname=~?"([\w|]+)"$/.exec(matchers[0] ?? '')?.[1]?.split('|') ?? ['']
    return names.map((name) => {
      const rule = rules.find(({ alert }) => alert === name)
      assert.ok(rule, `${matchers[0]}`)
      return rule.labels.severity
    })
  }
  for (const { source_matchers, target_matchers } of inhibit_rules) {
    const isPaged = severitiesOf(target_matchers).includes('page')
    if (isPaged) assert.ok(!severitiesOf(source_matchers).includes('ticket'), source_matchers[0])
  }
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

test('promtool accepts the rules and the configuration, and every rule test passes', {
  skip: !hasPromtool && 'no promtool (apt-get install prometheus)',
}, () => {
  const folder = join(ROOT, 'deploy/prometheus')
  for (const args of [
    ['check', 'config', 'prometheus.yaml'],
    ['test', 'rules', ...RULE_TESTS],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, {
      cwd: folder,
      encoding: 'utf8',
    })
    assert.equal(status, 0, `${stdout}\n${stderr}`)
  }
})

const hasAmtool = spawnSync('amtool', ['--version']).status === 0

test('amtool accepts the configuration of Alertmanager', {
  skip: !hasAmtool && 'no amtool (apt-get install prometheus-alertmanager)',
}, () => {
  const file = join(ROOT, 'deploy/prometheus/alertmanager.yaml')
  const { status, stderr } = spawnSync('amtool', ['check-config', file], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
})

interface Panel {
  readonly type: string
  readonly title: string
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly targets?: readonly { readonly expr: string }[]
}

test('the dashboard shows every metric, and reads only what the service exports', () => {
  const { panels } = JSON.parse(read('deploy/grafana/bonded.json')) as { panels: readonly Panel[] }
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  for (const expression of expressions)
    assert.deepEqual(unknownIn(expression.replaceAll('$instance', 'all'), exported), [], expression)
  const shown = expressions.flatMap((expression) =>
    [...expression.matchAll(/bonded_[a-z_]+/g)].map(([series]) => metricOf(series, exported.names)),
  )
  assert.deepEqual([...new Set(shown)].toSorted(), [...exported.names].toSorted())
})

test('no two panels of the dashboard overlap, and none leaves the grid', () => {
  const { panels } = JSON.parse(read('deploy/grafana/bonded.json')) as { panels: readonly Panel[] }
  const taken = new Map<string, string>()
  for (const { title, gridPos } of panels)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(x < 24, title)
        assert.equal(taken.get(`${x} ${y}`), undefined, title)
        taken.set(`${x} ${y}`, title)
      }
})

test('the guide explains every metric with its labels, and no other', () => {
  const rows = [
    ...read('docs/guides/operate/metrics.md').matchAll(/^\| `(bonded_\w+)` \|([^|]*)\|([^|]*)\|/gm),
  ]
  assert.deepEqual(rows.map(([, name = '']) => name).toSorted(), [...exported.names].toSorted())
  for (const [, name = '', , labels = ''] of rows) {
    const explained = [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label)
    const real = [...exported.values.keys()]
      .filter((key) => key.startsWith(`${name} `) && !key.endsWith(' le'))
      .map((key) => key.split(' ')[1] ?? '')
    assert.deepEqual(explained.toSorted(), real.toSorted(), name)
  }
})
