import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import type { BuiltImage } from './built-image.ts'
import { ROOT } from './copy-repository.ts'
import type { ContainerUser, Mount } from './isolated.ts'

const DEPLOY = join(ROOT, 'deploy')
/** With the lines for receipts, which an operator switches on. */
const read = (path: string) =>
  readFileSync(join(DEPLOY, path), 'utf8').replaceAll(
    /# (- )?(BONDED_RECEIPT_KEYS|\.\/receipts)/g,
    '$1$2',
  )

/** How a platform runs the image. */
export interface Container {
  readonly user: ContainerUser
  readonly env: readonly string[]
  readonly command: readonly string[]
  readonly mounts: readonly Mount[]
  readonly writable: readonly Mount[]
  /** The health check that the platform runs in the container. */
  readonly check?: readonly string[]
  /** The addresses of probes, as a port and a path. */
  readonly probes: readonly string[]
}

/** The files of each object, by its name. */
type Contents = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Where containers run, and what the operator has written. */
interface Platform {
  readonly image: Pick<BuiltImage, 'config' | 'data'>
  /** For volumes. Every user enters it. */
  readonly folder: string
  readonly secrets: Contents
  /** `console` and `ciba` with their files. */
  readonly files: Contents
}

/** The ids that OpenShift gives to a namespace. */
const OPENSHIFT: ContainerUser = { uid: 1_000_680_000, gid: 0, groups: [1_000_680_000] }

/** The containers of `deploy/kubernetes`, by the last part of their name. */
export function kubernetes(platform: Platform, { openshift }: { readonly openshift: boolean }) {
  const { image, folder, secrets, files } = platform
  const [{ literals }] = parse(read('kubernetes/kustomization.yaml')).configMapGenerator
  const configMaps: Contents = {
    bonded: Object.fromEntries(literals.map((line: string) => line.split(/=(.*)/s).slice(0, 2))),
    'bonded-console': files['console'] ?? {},
    'bonded-ciba': files['ciba'] ?? {},
  }
  return (name: string): Container => {
    const { template, volumeClaimTemplates = [] } = workload(name).spec
    const { containers, securityContext, volumes } = template.spec
    const [container] = containers
    const { runAsUser: uid, runAsGroup: gid, fsGroup } = securityContext
    const user = openshift ? OPENSHIFT : { uid, gid, groups: [fsGroup] }
    const make = volumeMaker(join(folder, name), user.groups[0] ?? 0, { configMaps, secrets })
    const made = new Map<string, string>(
      [...volumes, ...volumeClaimTemplates.map(claimOf)].map((volume) => [
        volume.name,
        make(volume),
      ]),
    )
    const mounted = (isReadOnly: boolean) =>
      container.volumeMounts
        .filter(({ readOnly = false }) => readOnly === isReadOnly)
        .map(
          (mount: { name: string; mountPath: string }): Mount => [
            made.get(mount.name) ?? '',
            mount.mountPath,
          ],
        )
    const { envFrom = [], env = [], ports = [], args = image.config.Cmd } = container
    const given = [
      ...envFrom.flatMap(({ configMapRef }: { configMapRef: { name: string } }) =>
        Object.entries(configMaps[configMapRef.name] ?? {}),
      ),
      ...env.map(({ name: key, value, valueFrom }: EnvVar) => [
        key,
        value ?? secrets[valueFrom?.secretKeyRef.name ?? '']?.[valueFrom?.secretKeyRef.key ?? ''],
      ]),
    ]
    const portOf = (wanted: string) =>
      ports.find((port: { name: string }) => port.name === wanted).containerPort
    return {
      user,
      env: [...image.config.Env, ...given.map((pair) => pair.join('='))],
      command: [...image.config.Entrypoint, ...args],
      mounts: mounted(true),
      writable: mounted(false),
      probes: ['startupProbe', 'readinessProbe', 'livenessProbe']
        .flatMap((probe) => container[probe]?.httpGet ?? [])
        .map(({ port, path }: { port: string; path: string }) => `${portOf(port)}${path}`),
    }
  }
}

interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } }
}

// The tests of the manifests compare them with the schema, so the type is open here.
// oxlint-disable-next-line typescript/no-explicit-any -- another test checks the shape
function workload(name: string): any {
  const file = {
    bonded: 'deployment.yaml',
    migrate: 'migrate-job.yaml',
    console: 'console/manifests.yaml',
    ciba: 'ciba/manifests.yaml',
  }[name]
  // Kubernetes reads YAML 1.1, in which 0440 is octal.
  return parseAllDocuments(read(`kubernetes/${file}`), { version: '1.1' })[0]?.toJS()
}

interface Source {
  readonly name?: string
  readonly secretName?: string
}
interface Volume {
  readonly name: string
  readonly emptyDir?: object
  readonly secret?: Source & { readonly defaultMode: number }
  readonly configMap?: Source & { readonly defaultMode: number }
  readonly projected?: {
    readonly defaultMode: number
    readonly sources: readonly { readonly secret?: Source; readonly configMap?: Source }[]
  }
}

function claimOf({ metadata }: { metadata: { name: string } }): Volume {
  return { name: metadata.name }
}

/** Makes volumes as a node does: they belong to root, and the group of the pod has access. */
function volumeMaker(
  folder: string,
  group: number,
  of: { configMaps: Contents; secrets: Contents },
) {
  return ({ name, secret, configMap, projected }: Volume): string => {
    const path = join(folder, name)
    mkdirSync(path, { recursive: true })
    for (const [above, mode] of [
      [folder, 0o755],
      [path, 0o2775],
    ] as const)
      chmodSync(above, mode)
    chownSync(path, 0, group)
    const sources = projected?.sources ?? [
      { ...(secret && { secret }), ...(configMap && { configMap }) },
    ]
    const { defaultMode } = projected ?? secret ?? configMap ?? { defaultMode: 0 }
    for (const source of sources) {
      const contents =
        of.secrets[source.secret?.secretName ?? source.secret?.name ?? ''] ??
        of.configMaps[source.configMap?.name ?? ''] ??
        {}
      for (const [file, text] of Object.entries(contents)) {
        writeFileSync(join(path, file), text)
        chmodSync(join(path, file), defaultMode)
        chownSync(join(path, file), 0, group)
      }
    }
    return path
  }
}

/** The containers of `deploy/compose.yaml`, by their name. */
export function compose(platform: Platform, variables: Readonly<Record<string, string>>) {
  const { image, folder, files } = platform
  const { services } = parse(read('compose.yaml'))
  return (name: string): Container => {
    const {
      user,
      environment,
      command = image.config.Cmd,
      volumes = [],
      healthcheck,
    } = services[name]
    const [uid, gid] = user.split(':').map(Number)
    const mounts = volumes.map((text: string) => text.split(':')) as [string, string, string?][]
    const places = mounts.map(([from, to]): Mount => [volume(from), to])
    return {
      user: { uid, gid, groups: [] },
      env: [
        ...image.config.Env,
        ...Object.entries<string>(environment).map(
          ([key, value]) => `${key}=${interpolated(value, variables)}`,
        ),
      ],
      command: [...image.config.Entrypoint, ...command],
      mounts: places.filter((_, index) => mounts[index]?.[2] === 'ro'),
      writable: places.filter((_, index) => mounts[index]?.[2] === undefined),
      check: (healthcheck?.test ?? image.config.Healthcheck.Test).slice(1),
      probes: [],
    }
  }

  /** A named volume has the owner and the mode of the image's folder, as Docker makes it. */
  function volume(from: string): string {
    const path = join(folder, from.replace('./', 'folder-'))
    mkdirSync(path, { recursive: true })
    const isNamed = !from.startsWith('./')
    const { uid, gid, mode } = isNamed ? image.data : { uid: 65_532, gid: 65_532, mode: 0o700 }
    const own = isNamed ? {} : (files[from.replace('./', '')] ?? {})
    for (const [file, text] of Object.entries(own)) {
      writeFileSync(join(path, file), text, { mode: 0o400 })
      chownSync(join(path, file), uid, gid)
    }
    chownSync(path, uid, gid)
    chmodSync(path, mode & 0o7777)
    return path
  }
}

function interpolated(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(
    /\$\{(\w+)(?::[-?]([^}]*))?\}/g,
    (_, name: string, fallback = '') => variables[name] ?? fallback,
  )
}
