import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { Namespace } from 'kubernetes-models/v1/Namespace'
import { Service } from 'kubernetes-models/v1/Service'
import { parse } from 'yaml'
import { readConfig } from '../../packages/service/src/config.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'deploy/kubernetes')
// Each file is parsed as YAML 1.2 with the schema of Kubernetes objects, so the type is open.
// oxlint-disable-next-line typescript/no-explicit-any -- the models check the shape
const read = (file: string): any => parse(readFileSync(join(FOLDER, file), 'utf8'))

const MODELS: Readonly<Record<string, new (data: never) => { validate(): void }>> = {
  Deployment,
  Ingress,
  Namespace,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
}
const kustomization = read('kustomization.yaml')
const files = kustomization.resources as readonly string[]
const deployment = read('deployment.yaml')
const pod = deployment.spec.template.spec
const [container] = pod.containers

test('every object matches the schema of its kind, offline', () => {
  assert.ok(files.length > 5, 'the objects were found')
  for (const file of files) {
    const object = read(file)
    const Model = MODELS[object.kind]
    assert.ok(Model !== undefined, `${file}: ${object.kind}`)
    const model = new Model(object as never)
    assert.doesNotThrow(() => model.validate(), file)
  }
  const wrong = structuredClone(deployment)
  wrong.spec.replicas = 'three'
  assert.throws(() => new Deployment(wrong).validate(), 'the validation finds a mistake')
})

test('the settings of the Deployment are valid for the service', () => {
  const literals = kustomization.configMapGenerator[0].literals as readonly string[]
  const environment = Object.fromEntries(
    literals.map((literal) => literal.split(/=(.*)/).slice(0, 2)),
  )
  const mount = container.volumeMounts.find(({ name }: { name: string }) => name === 'secrets')
  const secrets = {
    BONDED_DATABASE_URL: 'postgres://bonded:secret@db.example.com/bonded',
    BONDED_ROOT_KEYS: 'k1:AbCdEfGhIjKlMnOpQrStUvWxYz012345678-_aBcDeE',
  }
  const folder = mkdtempSync(join(tmpdir(), 'bonded-secrets-'))
  for (const [name, value] of Object.entries(secrets)) {
    // The path in the pod, with the test's folder in place of the mounted one.
    assert.equal(environment[`${name}_FILE`], `${mount.mountPath}/${name}`)
    environment[`${name}_FILE`] = join(folder, name)
    writeFileSync(join(folder, name), value)
  }
  const config = readConfig(environment)
  assert.deepEqual(
    [config.environment, config.metricsPort, config.metricsHost, config.drainMs],
    ['production', 9464, '0.0.0.0', 5_000],
  )
  const ports = container.ports.map(({ containerPort }: { containerPort: number }) => containerPort)
  assert.deepEqual(ports, [8787, config.metricsPort])
})

test('the pods meet the restricted pod security standard and write to their volume only', () => {
  const { securityContext } = container
  assert.deepEqual(
    [
      pod.securityContext.runAsNonRoot,
      pod.securityContext.runAsUser > 0,
      pod.securityContext.seccompProfile.type,
      securityContext.allowPrivilegeEscalation,
      securityContext.readOnlyRootFilesystem,
      securityContext.capabilities,
    ],
    [true, true, 'RuntimeDefault', false, true, { drop: ['ALL'] }],
  )
  assert.deepEqual([pod.automountServiceAccountToken, pod.enableServiceLinks], [false, false])
  assert.deepEqual(
    container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath),
    ['/data', '/run/secrets/bonded'],
  )
  const { labels } = read('namespace.yaml').metadata
  assert.equal(labels['pod-security.kubernetes.io/enforce'], 'restricted')
})

test('no probe restarts a pod because the database is unavailable or a migration is long', () => {
  const [startup, readiness, liveness] = ['startup', 'readiness', 'liveness'].map(
    (name) => container[`${name}Probe`],
  )
  assert.equal(readiness.httpGet.path, '/health/ready')
  for (const probe of [startup, liveness]) assert.equal(probe.httpGet.path, '/health/alive')
  // The service listens once it has migrated.
  assert.ok(startup.periodSeconds * startup.failureThreshold >= 600)
})

test('a rolling upgrade never removes a ready node first, and every selector finds the pods', () => {
  assert.deepEqual(deployment.spec.strategy.rollingUpdate, { maxSurge: 1, maxUnavailable: 0 })
  assert.equal(deployment.spec.replicas, 3)
  const budget = read('pod-disruption-budget.yaml')
  assert.equal(budget.spec.maxUnavailable, 1)
  const { labels } = deployment.spec.template.metadata
  const selectors = [
    deployment.spec.selector.matchLabels,
    budget.spec.selector.matchLabels,
    read('service.yaml').spec.selector,
    read('monitoring.yaml').spec.selector,
    read('network-policy.yaml').spec.podSelector.matchLabels,
    ...pod.topologySpreadConstraints.map(
      ({ labelSelector }: { labelSelector: { matchLabels: object } }) => labelSelector.matchLabels,
    ),
  ]
  for (const selector of selectors) assert.deepEqual(selector, labels)
})

test('the grace of a pod covers its sleep and the 25 seconds of a drain', () => {
  const { seconds } = container.lifecycle.preStop.sleep
  assert.ok(pod.terminationGracePeriodSeconds >= seconds + 25)
})

test('a waiting channel outlives the time-outs of the ingress, which logs no path', () => {
  const { annotations } = read('ingress.yaml').metadata
  for (const name of ['proxy-read-timeout', 'proxy-send-timeout'])
    assert.ok(Number(annotations[`nginx.ingress.kubernetes.io/${name}`]) >= 3_600, name)
  assert.equal(annotations['nginx.ingress.kubernetes.io/enable-access-log'], 'false')
})
