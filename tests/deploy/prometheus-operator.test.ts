import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule'
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor'
import { parse, stringify } from 'yaml'

const DEPLOY = resolve(import.meta.dirname, '../../deploy')
const read = (file: string) => parse(readFileSync(join(DEPLOY, file), 'utf8'))
const OPERATOR = 'kubernetes/prometheus-operator'
const monitor = read(`${OPERATOR}/service-monitor.yaml`)
const rule = read(`${OPERATOR}/prometheus-rule.yaml`)

test('the objects match the schemas of the Prometheus operator, offline', () => {
  new ServiceMonitor(monitor).validate()
  new PrometheusRule(rule).validate()
  const wrong = structuredClone(monitor)
  wrong.spec.endpoints[0].port = 9464
  assert.throws(() => new ServiceMonitor(wrong).validate(), 'the validation finds a mistake')
  assert.deepEqual(read(`${OPERATOR}/kustomization.yaml`).resources, [
    'service-monitor.yaml',
    'prometheus-rule.yaml',
  ])
})

test('the monitor selects the headless service alone, whose targets have the job of the rules', () => {
  const headless = read('kubernetes/monitoring.yaml')
  const { selector, endpoints, jobLabel } = monitor.spec
  assert.deepEqual(headless.metadata.labels, selector.matchLabels)
  assert.notDeepEqual(read('kubernetes/service.yaml').metadata.labels, selector.matchLabels)
  assert.deepEqual(
    headless.spec.ports.map(({ name }: { name: string }) => name),
    endpoints.map(({ port }: { port: string }) => port),
  )
  assert.equal(headless.metadata.labels[jobLabel], 'bonded')
})

test('the operator has the same rules as the rule file', () => {
  assert.deepEqual(rule.spec, read('prometheus/alerts.yaml'))
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

test('promtool accepts the rules of the operator', {
  skip: !hasPromtool && 'no promtool (apt-get install prometheus)',
}, () => {
  const file = join(mkdtempSync(join(tmpdir(), 'bonded-rules-')), 'rules.yaml')
  writeFileSync(file, stringify(rule.spec))
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], {
    encoding: 'utf8',
  })
  assert.equal(status, 0, `${stdout}\n${stderr}`)
})
