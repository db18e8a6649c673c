import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { StatefulSet } from 'kubernetes-models/apps/v1/StatefulSet'
import { Job } from 'kubernetes-models/batch/v1/Job'
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { Namespace } from 'kubernetes-models/v1/Namespace'
import { Service } from 'kubernetes-models/v1/Service'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../../packages/server/src/settings/config.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'deploy/kubernetes')
// Each file is parsed as YAML 1.2 with the schema of Kubernetes objects, so the type is open.
// oxlint-disable-next-line typescript/no-explicit-any -- the models check the shape
const read = (file: string): any => parse(readFileSync(join(FOLDER, file), 'utf8'))
/** Every object of a file. */
const readAll = (file: string): readonly ReturnType<typeof read>[] =>
  parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map((each) => each.toJS())

const MODELS: Readonly<Record<string, new (data: never) => { validate(): void }>> = {
  Deployment,
  Ingress,
  Job,
  Namespace,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  StatefulSet,
}
const kustomization = read('kustomization.yaml')
const files = kustomization.resources as readonly string[]
const deployment = read('deployment.yaml')
const pod = deployment.spec.template.spec
const [container] = pod.containers
const job = read('migrate-job.yaml')
const jobPod = job.spec.template.spec
const [policy, jobPolicy] = readAll('network-policy.yaml')
/** The parts that an operator switches on. */
const PARTS = ['console', 'ciba']
/** The objects of a part: its workload, service, ingress, and network policy. */
const objectsOf = (part: string) => readAll(`${part}/manifests.yaml`)
const partPods = PARTS.map((part) => objectsOf(part)[0]?.spec.template.spec)

test('every object matches the schema of its kind, offline', () => {
  assert.ok(files.length > 5, 'the objects were found')
  const every = [...files, ...PARTS.map((part) => `${part}/manifests.yaml`)]
  for (const [file, object] of every.flatMap((name) => readAll(name).map((each) => [name, each]))) {
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
    ['production', 9464, '::', 5_000],
  )
  const ports = container.ports.map(({ containerPort }: { containerPort: number }) => containerPort)
  assert.deepEqual(ports, [8787, config.metricsPort])
})

test('the pods meet the restricted pod security standard and write to their volume only', () => {
  for (const each of [pod, jobPod, ...partPods]) {
    const [{ securityContext }] = each.containers
    assert.deepEqual(
      [
        each.securityContext.runAsNonRoot,
        each.securityContext.runAsUser > 0,
        each.securityContext.seccompProfile.type,
        securityContext.allowPrivilegeEscalation,
        securityContext.readOnlyRootFilesystem,
        securityContext.capabilities,
      ],
      [true, true, 'RuntimeDefault', false, true, { drop: ['ALL'] }],
    )
    assert.deepEqual([each.automountServiceAccountToken, each.enableServiceLinks], [false, false])
  }
  assert.deepEqual(
    container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath),
    ['/data', '/run/secrets/bonded'],
  )
  const { labels } = read('namespace.yaml').metadata
  assert.equal(labels['pod-security.kubernetes.io/enforce'], 'restricted')
})

test('the migration has its own secret, which no pod of the service has, and no root key', () => {
  const secretsOf = ({ volumes }: typeof pod) =>
    volumes.flatMap(
      (volume: { secret?: { secretName: string } }) => volume.secret?.secretName ?? [],
    )
  assert.deepEqual([secretsOf(pod), secretsOf(jobPod)], [['bonded'], ['bonded-migrate']])
  const [migrate] = jobPod.containers
  assert.deepEqual(migrate.args, ['migrate', 'up', '--runtime-role', 'bonded'])
  const [mount] = migrate.volumeMounts
  assert.deepEqual(migrate.env, [
    { name: 'BONDED_DATABASE_URL_FILE', value: `${mount.mountPath}/BONDED_DATABASE_URL` },
  ])
  assert.equal(migrate.envFrom, undefined)
  assert.equal(migrate.image, container.image, 'the same version')
  const labels = job.spec.template.metadata.labels
  assert.notDeepEqual(labels, deployment.spec.template.metadata.labels)
  assert.deepEqual(jobPolicy.spec.podSelector.matchLabels, labels)
})

/** The private ranges of the internet of each family. */
const PRIVATE: Readonly<Record<string, readonly string[]>> = {
  '0.0.0.0/0': ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16'],
  '::/0': ['fc00::/7', 'fe80::/10'],
}

test('only named pods reach the service, and it reaches only DNS, its database, traces, and the internet', () => {
  const literals = kustomization.configMapGenerator[0].literals as readonly string[]
  assert.ok(literals.includes('BONDED_TRUST_PROXY=1'))
  const partPolicies = PARTS.flatMap((part) => objectsOf(part).at(-1))
  const peers = [policy, jobPolicy, ...partPolicies].flatMap(({ spec }) => [
    ...(spec.ingress ?? []).flatMap(({ from }: { from: object[] }) => from),
    ...spec.egress.flatMap(({ to }: { to: object[] }) => to),
  ]) as { ipBlock?: { cidr: string; except?: string[] }; podSelector?: object }[]
  for (const { ipBlock, podSelector } of peers) {
    if (ipBlock === undefined) assert.ok(podSelector !== undefined, 'a namespace is too much')
    else if (!ipBlock.cidr.endsWith('/32'))
      for (const range of PRIVATE[ipBlock.cidr] ?? [ipBlock.cidr])
        assert.ok(ipBlock.except?.includes(range), range)
  }
  const portsOf = ({ spec }: typeof policy) =>
    spec.egress.map(({ ports }: { ports: { port: number }[] }) => ports[0]?.port)
  assert.deepEqual(
    [portsOf(policy), portsOf(jobPolicy)],
    [
      [53, 5432, 4318, 443],
      [53, 5432],
    ],
  )
  assert.deepEqual(
    policy.spec.egress.slice(0, 2),
    jobPolicy.spec.egress,
    'DNS and the database are the same for both',
  )
  assert.equal(jobPolicy.spec.ingress, undefined)
  const denied = read('default-deny.yaml').spec
  assert.deepEqual([denied.podSelector, denied.policyTypes], [{}, ['Ingress', 'Egress']])
})

test('no probe restarts a pod because the database is unavailable or a migration is long', () => {
  const [startup, readiness, liveness] = ['startup', 'readiness', 'liveness'].map(
    (name) => container[`${name}Probe`],
  )
  assert.equal(readiness.httpGet.path, '/health/ready')
  for (const probe of [startup, liveness]) assert.equal(probe.httpGet.path, '/health/alive')
  // A node whose own role migrates listens once it has migrated.
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
    policy.spec.podSelector.matchLabels,
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

test('each part is one pod, which its own service, ingress, and network policy select', () => {
  for (const part of PARTS) {
    const [workload, service, ingress, own] = objectsOf(part)
    const { labels } = workload.spec.template.metadata
    assert.deepEqual(labels, { 'app.kubernetes.io/name': `bonded-${part}` })
    assert.notDeepEqual(labels, deployment.spec.template.metadata.labels)
    for (const selector of [
      workload.spec.selector.matchLabels,
      service.spec.selector,
      own.spec.podSelector.matchLabels,
    ])
      assert.deepEqual(selector, labels)
    // Its state is in memory, or in a file of one process.
    assert.equal(workload.spec.replicas, 1)
    assert.ok(workload.kind === 'StatefulSet' || workload.spec.strategy.type === 'Recreate')
    const [{ backend }] = ingress.spec.rules[0].http.paths
    assert.equal(backend.service.name, service.metadata.name)
    const [{ image, volumeMounts }] = workload.spec.template.spec.containers
    assert.equal(image, container.image, 'the same image')
    const mounted = volumeMounts.map(({ name }: { name: string }) => name).toSorted()
    const { volumes } = workload.spec.template.spec
    const claimed = workload.spec.volumeClaimTemplates?.map(
      ({ metadata }: { metadata: { name: string } }) => metadata.name,
    )
    const declared = [...volumes.map(({ name }: { name: string }) => name), ...(claimed ?? [])]
    assert.deepEqual(mounted, declared.map(String).toSorted())
    const component = read(`${part}/kustomization.yaml`)
    assert.deepEqual([component.kind, component.resources], ['Component', ['manifests.yaml']])
  }
  assert.deepEqual(kustomization.components, [], 'no part runs unless it is switched on')
})

test('on OpenShift, no pod names its user or its groups', () => {
  const [{ target, patch }] = read('openshift/kustomization.yaml').patches
  const removed = parse(patch) as readonly { readonly op: string; readonly path: string }[]
  const workloads = [deployment, job, ...PARTS.map((part) => objectsOf(part)[0])]
  for (const { kind, spec } of workloads) {
    assert.match(kind, new RegExp(`^(?:${target.kind})$`))
    const names = removed.map(({ op, path }) => [op, path.replace(/^.*\/securityContext\//, '')])
    const left = Object.keys(spec.template.spec.securityContext).filter(
      (name) => !names.some(([, each]) => each === name),
    )
    assert.deepEqual(
      [...new Set(names.map(([op]) => op)), ...left],
      ['remove', 'runAsNonRoot', 'seccompProfile'],
    )
  }
})

test('a waiting channel outlives the time-outs of the ingress, which logs no path', () => {
  const { annotations } = read('ingress.yaml').metadata
  for (const name of ['proxy-read-timeout', 'proxy-send-timeout'])
    assert.ok(Number(annotations[`nginx.ingress.kubernetes.io/${name}`]) >= 3_600, name)
  assert.equal(annotations['nginx.ingress.kubernetes.io/enable-access-log'], 'false')
})
