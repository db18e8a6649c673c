// Prints the bill of materials (CycloneDX, JSON) of a package: `node deploy/sbom.mjs NAME`.
//   --with NAME       also a package whose code is in its tarball
//   --installed FOLDER  what the folder has, in place of what npm would install
//   --node            also this Node, with the libraries that are compiled into it
//   --debian FOLDER   also the Debian packages that the files of this folder describe
// npm writes it. This script keeps the part that an installation of the package has, because
// `npm sbom --omit=dev` loses packages that the root also needs for development.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'

const ROOT = resolve(import.meta.dirname, '..')
const SCOPE = '@bonded/'
/** The manifest of an installed package, or of one of ours. A package can contain others. */
const PACKAGE = /(?:^|\/)(?:node_modules\/(?:@[^/]+\/)?[^/@.][^/]*|packages\/[^/]+)\/package\.json$/
/** Entries of `process.versions` other than libraries: versions of interfaces and of data. */
const NO_LIBRARY = ['node', 'modules', 'napi', 'cldr', 'tz', 'unicode']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    with: { type: 'string', multiple: true },
    installed: { type: 'string' },
    node: { type: 'boolean' },
    debian: { type: 'string' },
  },
})
const [name] = positionals
if (name === undefined) throw new Error('usage: node deploy/sbom.mjs NAME')
const whole = npmSbom()
const bom = { ...whole, ...partOf(`${SCOPE}${name}`) }
if (values.node) add(nodeComponent())
if (values.debian !== undefined) for (const each of debianComponents(values.debian)) add(each)
process.stdout.write(`${JSON.stringify(bom, undefined, 2)}\n`)

function npmSbom() {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
  const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 }
  return JSON.parse(execFileSync('npm', args, options))
}

/** The package, and what npm installs with it. */
function partOf(wanted) {
  const byRef = new Map(whole.components.map((component) => [component['bom-ref'], component]))
  const edges = new Map(whole.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
  const root = [...byRef.keys()].find((ref) => nameOf(ref) === wanted)
  if (root === undefined) throw new Error(`there is no package ${wanted}`)
  const present = values.installed === undefined ? undefined : refsIn(values.installed)
  const reached = new Map([root, ...(present ?? [])].map((ref) => [ref, undefined]))
  for (const ref of reached.keys()) {
    if (!byRef.has(ref)) throw new Error(`${ref} is not in package-lock.json`)
    const declared = nameOf(ref).startsWith(SCOPE) ? declaredBy(nameOf(ref)) : undefined
    const needed = (edges.get(ref) ?? []).filter(
      (each) => (declared?.includes(nameOf(each)) ?? true) && (present?.has(each) ?? true),
    )
    reached.set(ref, needed)
    for (const each of needed) if (!reached.has(each)) reached.set(each, undefined)
  }
  const { timestamp, lifecycles, tools } = whole.metadata
  const component = byRef.get(root)
  return {
    metadata: { timestamp, lifecycles, tools, component },
    components: [...reached.keys()].filter((ref) => ref !== root).map((ref) => byRef.get(ref)),
    dependencies: [...reached].map(([ref, dependsOn]) => ({ ref, dependsOn })),
  }
}

/** Every package below a folder, as npm names it: `name@1.0.0`. */
function refsIn(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => PACKAGE.test(file))
  const manifests = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
  return new Set(manifests.map((manifest) => `${manifest.name}@${manifest.version}`))
}

/** `@scope/name@1.0.0` without its version. */
function nameOf(ref) {
  return ref.slice(0, ref.lastIndexOf('@'))
}

/** What one of our packages needs at run time. Its tarball does not name the rest. */
function declaredBy(packageName) {
  const file = join(ROOT, 'packages', packageName.slice(SCOPE.length), 'package.json')
  const { dependencies = {} } = JSON.parse(readFileSync(file, 'utf8'))
  const contained = packageName === `${SCOPE}${name}` ? (values.with ?? []) : []
  return [...Object.keys(dependencies), ...contained.map((each) => `${SCOPE}${each}`)]
}

function add(component) {
  bom.components.push(component)
  const own = bom.dependencies.find(({ ref }) => ref === bom.metadata.component['bom-ref'])
  own.dependsOn.push(component['bom-ref'])
}

function nodeComponent() {
  const { version, versions } = process
  const libraries = Object.entries(versions).filter(([library]) => !NO_LIBRARY.includes(library))
  return {
    'bom-ref': `node@${version}`,
    type: 'application',
    name: 'node',
    version: versions.node,
    purl: `pkg:generic/node@${versions.node}`,
    licenses: [{ license: { id: 'MIT' } }],
    components: libraries.map(([library, number]) => ({
      'bom-ref': `node@${version}/${library}`,
      type: 'library',
      name: library,
      version: number,
    })),
  }
}

/** Distroless images describe each package in a file of its own; the others are lists of files. */
function debianComponents(folder) {
  const texts = readdirSync(folder)
    .filter((file) => !file.endsWith('.md5sums'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
  if (texts.length === 0) throw new Error(`${folder} describes no Debian package`)
  return texts.map((text) => {
    const [debian, version, architecture] = ['Package', 'Version', 'Architecture'].map(
      (field) => new RegExp(`^${field}: (.+)$`, 'm').exec(text)?.[1] ?? '',
    )
    const purl = `pkg:deb/debian/${encodeURIComponent(debian)}@${encodeURIComponent(version)}?arch=${architecture}`
    return { 'bom-ref': purl, type: 'library', name: debian, version, purl }
  })
}
